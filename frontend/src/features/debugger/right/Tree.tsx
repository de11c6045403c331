// A tree of values: arrow keys walk and unfold, Enter changes a value, the menu key or a right click opens its actions.
import { type KeyboardEvent, memo, type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import type { Variable } from "../../../api/types.gen";
import { useWords } from "../../../i18n";
import { cx } from "../../../ui/widgets";
import { loadMore, useWanted } from "../looking";
import s from "../right.module.css";
import { toggle, useDebug } from "../state";
import { flatten, hasChildren, type Root, type Row } from "../tree";
import { ValueMenu } from "./ValueMenu";
import { ValueText } from "./ValueText";

export interface TreeProps {
  root: Root;
  worker: string;
  label: string;
  /** Values may be asked for. */
  allowed: boolean;
  /** Changes a value; without it values can't be changed. */
  onEdit?: (variable: Variable, value: string) => Promise<boolean>;
  /** What stands before a row's name and after its value, of the outermost rows. */
  before?: (variable: Variable, index: number) => ReactNode;
  empty?: string;
}

export function Tree({ root, worker, label, allowed, onEdit, before, empty }: TreeProps) {
  const pages = useDebug((state) => state.pages);
  const open = useDebug((state) => state.open);
  const { rows, wanted } = useMemo(() => flatten(root, pages, open), [root, pages, open]);
  useWanted(worker, wanted, allowed);
  const [focused, setFocused] = useState<string | null>(null);
  const [editing, setEditing] = useState<string | null>(null);
  const [menu, setMenu] = useState<{ row: Row & { kind: "value" }; x: number; y: number } | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const refocus = useRef(false);
  const current = rows.some((row) => row.path === focused) ? focused : (rows[0]?.path ?? null);

  const focus = (row: Row | undefined) => {
    if (!row) return;
    setFocused(row.path);
    refocus.current = true;
  };
  useEffect(() => {
    if (!refocus.current) return;
    refocus.current = false;
    box.current?.querySelector<HTMLElement>("[role=treeitem][tabindex='0']")?.focus();
  });

  const settable = (row: Row): boolean =>
    onEdit !== undefined && row.kind === "value" && !row.old && Boolean(row.variable.evaluateName);
  const press = (row: Row) => {
    if (row.kind === "value" && hasChildren(row.variable)) toggle(row.path);
    if (row.kind === "more" && !row.busy) void loadMore(worker, row.parent, root.epoch, row.reference);
  };
  const onKey = (event: KeyboardEvent, row: Row, i: number) => {
    if (event.ctrlKey || event.metaKey || event.altKey || editing !== null) return;
    const expandable = row.kind === "value" && hasChildren(row.variable);
    const unfolded = row.kind === "value" && row.open;
    if (event.key === "ArrowDown") focus(rows[i + 1]);
    else if (event.key === "ArrowUp") focus(rows[i - 1]);
    else if (event.key === "Home") focus(rows[0]);
    else if (event.key === "End") focus(rows.at(-1));
    else if (event.key === "ArrowRight" && expandable) {
      if (unfolded) focus(rows[i + 1]);
      else toggle(row.path, true);
    } else if (event.key === "ArrowLeft") {
      if (unfolded) toggle(row.path, false);
      else focus(rows.find((one) => one.path === row.parent));
    } else if (event.key === "Enter" && settable(row)) setEditing(row.path);
    else if (event.key === "Enter" || event.key === " ") press(row);
    else if ((event.key === "ContextMenu" || (event.key === "F10" && event.shiftKey)) && row.kind === "value") {
      const at = event.currentTarget.getBoundingClientRect();
      setMenu({ row, x: at.left + 40, y: at.bottom });
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };

  const roots = root.variables;
  return (
    <div ref={box} role="tree" aria-label={label} className={s.tree}>
      {rows.length === 0 && empty ? <p className={s.hint}>{empty}</p> : null}
      {rows.map((row, i) => (
        <TreeRow
          key={row.path}
          row={row}
          current={row.path === current}
          editing={editing === row.path}
          before={
            before && row.depth === 0 && row.kind === "value"
              ? before(row.variable, roots?.indexOf(row.variable) ?? i)
              : null
          }
          onFocus={() => setFocused(row.path)}
          onPress={() => press(row)}
          onKey={(event) => onKey(event, row, i)}
          onMenu={(x, y) => row.kind === "value" && setMenu({ row, x, y })}
          onEdit={settable(row) ? () => setEditing(row.path) : undefined}
          onEdited={async (value) => {
            if (value !== null && row.kind === "value" && onEdit && !(await onEdit(row.variable, value))) return;
            setEditing(null);
            focus(row);
          }}
        />
      ))}
      {menu ? (
        <ValueMenu
          variable={menu.row.variable}
          x={menu.x}
          y={menu.y}
          onEdit={settable(menu.row) ? () => setEditing(menu.row.path) : undefined}
          onClose={() => {
            setMenu(null);
            if (editing === null) focus(menu.row);
          }}
        />
      ) : null}
    </div>
  );
}

interface RowProps {
  row: Row;
  current: boolean;
  editing: boolean;
  before: ReactNode;
  onFocus: () => void;
  onPress: () => void;
  onKey: (event: KeyboardEvent) => void;
  onMenu: (x: number, y: number) => void;
  onEdit?: () => void;
  onEdited: (value: string | null) => void;
}

const TreeRow = memo(function TreeRow({ row, current, editing, before, ...on }: RowProps) {
  const { debugger: t } = useWords();
  const variable = row.kind === "value" ? row.variable : null;
  const expandable = variable !== null && hasChildren(variable);
  return (
    <div
      role="treeitem"
      aria-level={row.depth + 1}
      aria-expanded={expandable ? row.kind === "value" && row.open : undefined}
      aria-selected={current}
      tabIndex={current ? 0 : -1}
      className={s.value}
      data-old={(row.kind === "value" && row.old) || undefined}
      data-testid="value"
      data-name={variable?.name}
      style={{ "--depth": row.depth } as React.CSSProperties}
      onFocus={(event) => event.target === event.currentTarget && on.onFocus()}
      onClick={on.onPress}
      onDoubleClick={() => !expandable && on.onEdit?.()}
      onKeyDown={on.onKey}
      onContextMenu={(event) => {
        if (!variable) return;
        event.preventDefault();
        on.onMenu(event.clientX, event.clientY);
      }}
    >
      <span className={s.twist} aria-hidden="true">
        {expandable ? (row.kind === "value" && row.open ? "▾" : "▸") : ""}
      </span>
      {before}
      {variable ? (
        <>
          <span className={s.name}>{variable.name}</span>
          {variable.value || editing ? <span className={s.equals}> = </span> : null}
          {editing ? <Editor variable={variable} onDone={on.onEdited} /> : <ValueText of={variable} />}
        </>
      ) : row.kind === "more" ? (
        <span className={s.more}>{row.busy ? t.loading : t.more(row.left)}</span>
      ) : (
        <span className={cx(s.faint, row.kind === "note" && row.note === "error" && s.wrong)}>
          {row.kind === "note" && row.note === "error"
            ? t.fetchFailed(row.text)
            : row.kind === "note" && row.note === "empty"
              ? t.none
              : t.loading}
        </span>
      )}
    </div>
  );
});

function Editor({ variable, onDone }: { variable: Variable; onDone: (value: string | null) => void }) {
  const { debugger: t } = useWords();
  const [value, setValue] = useState(variable.value);
  const input = useRef<HTMLInputElement>(null);
  const done = useRef(false);
  useEffect(() => {
    input.current?.focus();
    input.current?.select();
  }, []);
  const end = (result: string | null) => {
    if (done.current && result === null) return;
    done.current = true;
    onDone(result);
  };
  return (
    <input
      ref={input}
      className={s.edit}
      aria-label={t.edit(variable.name)}
      value={value}
      spellCheck={false}
      autoComplete="off"
      onChange={(event) => setValue(event.target.value)}
      onClick={(event) => event.stopPropagation()}
      onBlur={() => end(null)}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.key === "Enter") {
          event.preventDefault();
          end(value);
        } else if (event.key === "Escape") {
          event.preventDefault();
          end(null);
        }
      }}
    />
  );
}
