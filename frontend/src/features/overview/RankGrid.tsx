import { type KeyboardEvent, type MouseEvent, memo, useEffect, useRef } from "react";
import type { Actor, Node } from "../../api/types.gen";
import { type Catalog, useWords } from "../../i18n";
import { StateGlyph } from "../../ui/Glyph";
import { cx } from "../../ui/widgets";
import { methodOf, stateOf } from "./doing";
import s from "./grid.module.css";
import type { Marks } from "./marks";
import { type Cell, type GridRow, gridRows } from "./tree";

interface Props {
  name: string;
  members: readonly Actor[];
  worldSize: number | null;
  nodes: ReadonlyMap<string, Node>;
  compact: boolean;
  marks: Marks;
  onOpen: (actorId: string) => void;
}

/** The ranks of a group, one row a node. One tab stop; arrows move, Enter opens. */
export function RankGrid({ name, members, worldSize, nodes, compact, marks, onOpen }: Props) {
  const words = useWords();
  const ref = useRef<HTMLDivElement>(null);
  const rows = gridRows(members, worldSize, nodes);
  const widest = rows.reduce((most, row) => Math.max(most, row.cells.length), 0);
  const columns = widest <= 8 ? 8 : 16;

  useEffect(() => {
    const grid = ref.current;
    if (!grid?.querySelector('[tabindex="0"]')) cellsOf(grid)[0]?.setAttribute("tabindex", "0");
  });

  const open = (event: MouseEvent | KeyboardEvent) => {
    const id = (event.target as Element).closest("[data-actor-id]")?.getAttribute("data-actor-id");
    if (id) onOpen(id);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter") {
      event.preventDefault();
      open(event);
    } else if (moveFocus(ref.current, event.key)) event.preventDefault();
  };

  return (
    <div
      ref={ref}
      role="grid"
      tabIndex={-1}
      aria-label={words.cell.grid(name)}
      className={cx(s.grid, compact && s.compact)}
      data-columns={columns}
      onClick={open}
      onKeyDown={onKeyDown}
    >
      {rows.map((row) => {
        const label = row.key === "none" ? words.tree.notPlaced : row.key === "unseen" ? words.tree.notSeen : row.label;
        return <Row key={row.key} row={row} label={label} compact={compact} marks={marks} words={words} />;
      })}
    </div>
  );
}

interface RowProps {
  row: GridRow;
  label: string;
  compact: boolean;
  marks: Marks;
  words: Catalog;
}

const Row = memo(
  function Row({ row, label, compact, marks, words }: RowProps) {
    return (
      <div role="row" tabIndex={-1} className={s.row} data-lost={row.lost || undefined}>
        <span role="rowheader" tabIndex={-1} className={s.label} title={label}>
          {label}
        </span>
        <div role="presentation" className={s.cells}>
          {row.cells.map((cell) => (
            <RankCell
              key={cell.key}
              cell={cell}
              compact={compact}
              mark={cell.actor ? marks.of(cell.actor) : "none"}
              words={words}
            />
          ))}
        </div>
      </div>
    );
  },
  (a, b) =>
    a.label === b.label &&
    a.compact === b.compact &&
    a.marks === b.marks &&
    a.words === b.words &&
    a.row.lost === b.row.lost &&
    a.row.cells.length === b.row.cells.length &&
    a.row.cells.every((cell, i) => cell.actor === b.row.cells[i]?.actor && cell.key === b.row.cells[i]?.key),
);

interface CellProps {
  cell: Cell;
  compact: boolean;
  mark: string;
  words: Catalog;
}

const RankCell = memo(
  function RankCell({ cell: { actor, rank }, compact, mark, words }: CellProps) {
    const shownRank = rank === null ? labelOf(actor, words) : String(rank);
    const tone = actor ? stateOf(actor) : "unknown";
    const label = actor
      ? words.cell.label(rank === null ? shownRank : words.headline.ranks(shownRank), words.state[tone])
      : words.cell.unseen(rank ?? 0);
    const doing = actor && methodOf(actor, words);
    const method = doing ? ` · ${doing}` : "";
    const restarts = actor && actor.restarts > 0 ? ` · ${words.cell.restarted(actor.restarts)}` : "";
    return (
      <button
        type="button"
        role="gridcell"
        tabIndex={-1}
        className={s.cell}
        data-testid="rank-cell"
        data-tone={tone}
        data-state={tone}
        data-rank={rank ?? ""}
        data-actor-id={actor?.actor_id}
        data-mark={mark}
        aria-selected={mark === "selected"}
        aria-label={label + method + restarts}
        title={label + method + restarts}
      >
        {compact ? null : <span>{shownRank}</span>}
        {!compact && restarts ? <span className={s.restarts}>{actor?.restarts}</span> : null}
        {compact && !LOUD.has(tone) ? null : <StateGlyph tone={tone} size={compact ? 6 : 9} />}
      </button>
    );
  },
  (a, b) =>
    a.cell.actor === b.cell.actor &&
    a.cell.rank === b.cell.rank &&
    a.mark === b.mark &&
    a.compact === b.compact &&
    a.words === b.words,
);

/** Members that tell no rank are told apart by their name, or by their process. */
const labelOf = (actor: Actor | null, words: Catalog): string =>
  actor?.name ?? (actor?.pid ? String(actor.pid) : words.cell.unknownRank);

const LOUD = new Set(["paused", "failed", "dead", "unknown", "pending"]);

const cellsOf = (grid: HTMLElement | null | undefined): HTMLElement[] => [
  ...(grid?.querySelectorAll<HTMLElement>('[role="gridcell"]') ?? []),
];

/** Roving tabindex over the cells; up and down go to the same place in the row beside. */
function moveFocus(grid: HTMLElement | null, key: string): boolean {
  const cells = cellsOf(grid);
  const from = cells.indexOf(document.activeElement as HTMLElement);
  const current = cells[from];
  if (!current) return false;
  let to: HTMLElement | undefined;
  if (key === "ArrowRight") to = cells[from + 1];
  else if (key === "ArrowLeft") to = cells[from - 1];
  else if (key === "Home") to = cells[0];
  else if (key === "End") to = cells.at(-1);
  else if (key === "ArrowDown" || key === "ArrowUp") {
    const row = current.closest('[role="row"]');
    const inRow = cellsOf(row as HTMLElement).indexOf(current);
    const beside = key === "ArrowDown" ? row?.nextElementSibling : row?.previousElementSibling;
    const line = cellsOf(beside as HTMLElement | null);
    to = line[Math.min(inRow, line.length - 1)];
  } else return false;
  if (to) {
    for (const cell of cells) if (cell.tabIndex === 0) cell.tabIndex = -1;
    to.tabIndex = 0;
    to.focus();
  }
  return true;
}
