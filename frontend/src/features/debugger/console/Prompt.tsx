import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { askDebug, type CompletionItem } from "../../../api/debug";
import type { DebugSession } from "../../../api/types.gen";
import { useWords } from "../../../i18n";
import s from "../console.module.css";
import { shownFrame } from "../looking";
import { useReachable } from "../session";
import { useDebug } from "../state";
import { question, withItem } from "./complete";
import { addToHistory, readHistory, Walk } from "./history";
import { run } from "./store";

const MOST_ROWS = 8;
const MOST_ITEMS = 100;

/** Where expressions are typed. */
export function Prompt({ session }: { session: DebugSession }) {
  const { debugger: t } = useWords();
  const worker = session.worker_id;
  const [text, setText] = useState("");
  const [items, setItems] = useState<CompletionItem[]>([]);
  const [at, setAt] = useState(0);
  const area = useRef<HTMLTextAreaElement>(null);
  const walk = useRef(new Walk(readHistory(localStorage, worker)));
  const caret = useRef<number | null>(null);
  const list = useRef<HTMLDivElement>(null);
  const reachable = useReachable();
  const off = !reachable || session.state === "ended" || session.state === "failed";

  useEffect(() => {
    if (caret.current === null || !area.current) return;
    area.current.setSelectionRange(caret.current, caret.current);
    caret.current = null;
  });
  useEffect(() => {
    list.current?.children[at]?.scrollIntoView?.({ block: "nearest" });
  }, [at]);

  const put = (value: string, position = value.length) => {
    caret.current = position;
    setText(value);
    setItems([]);
  };
  const submit = () => {
    const expression = text.trim() === "" ? "" : text.replace(/\s+$/, "");
    if (expression === "" || off) return;
    walk.current.reset(addToHistory(localStorage, worker, expression));
    put("");
    void run(worker, expression);
  };
  const pick = (item: CompletionItem | undefined) => {
    if (!item || !area.current) return;
    const done = withItem(text, area.current.selectionEnd, item);
    put(done.value, done.caret);
    area.current.focus();
  };
  const complete = async () => {
    if (!area.current || off) return;
    const asked = question(text, area.current.selectionEnd);
    const frame = shownFrame(useDebug.getState().shown);
    try {
      const args = { text: asked.text, column: asked.column, ...(frame ? { frameId: frame.id } : {}) };
      const { targets } = await askDebug(worker, "completions", args);
      if (area.current?.value !== text) return; // typed on meanwhile
      if (targets.length === 1) return pick(targets[0]);
      setItems(targets.slice(0, MOST_ITEMS));
      setAt(0);
    } catch {
      setItems([]); // nothing to offer
    }
  };

  const onKey = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    const { key, shiftKey } = event;
    const { selectionStart, selectionEnd } = event.currentTarget;
    if (event.nativeEvent.isComposing || event.altKey || event.ctrlKey || event.metaKey) return;
    if (items.length > 0) {
      if (key === "ArrowDown" || key === "ArrowUp")
        setAt((at + (key === "ArrowDown" ? 1 : -1) + items.length) % items.length);
      else if ((key === "Enter" && !shiftKey) || key === "Tab") pick(items[at]);
      else if (key === "Escape") setItems([]);
      else return;
      event.preventDefault();
      event.stopPropagation();
      return;
    }
    if (key === "Enter" && !shiftKey) submit();
    // An empty field lets Tab go on: the page must not catch the focus.
    else if (key === "Tab" && !shiftKey && /[\w.)\]]$/.test(text.slice(0, selectionEnd))) void complete();
    else if (key === "ArrowUp" && !text.slice(0, selectionStart).includes("\n")) {
      const line = walk.current.older(text);
      if (line === null) return;
      put(line);
    } else if (key === "ArrowDown" && !text.slice(selectionEnd).includes("\n")) {
      const line = walk.current.newer();
      if (line === null) return;
      put(line);
    } else return;
    event.preventDefault();
  };

  return (
    <div className={s.prompt}>
      {items.length > 0 ? (
        <div
          ref={list}
          id="completions"
          role="listbox"
          aria-label={t.completions}
          className={s.items}
          data-testid="completions"
        >
          {items.map((item, i) => (
            // biome-ignore lint/a11y/useFocusableInteractive: the field has the focus
            <div
              key={`${item.label} ${item.type}`}
              id={`completion-${i}`}
              role="option"
              aria-selected={i === at}
              onMouseDown={(event) => {
                event.preventDefault();
                pick(item);
              }}
            >
              {item.label}
              <span>{item.type}</span>
            </div>
          ))}
        </div>
      ) : null}
      <span className={s.sign} aria-hidden="true">
        ›
      </span>
      <textarea
        ref={area}
        id="debugger-prompt"
        data-testid="prompt"
        rows={Math.min(MOST_ROWS, text.split("\n").length)}
        value={text}
        aria-label={t.prompt}
        aria-controls={items.length > 0 ? "completions" : undefined}
        aria-activedescendant={items.length > 0 ? `completion-${at}` : undefined}
        placeholder={off ? t.promptOff : t.promptHint}
        readOnly={off}
        spellCheck={false}
        autoCapitalize="off"
        autoComplete="off"
        onChange={(event) => {
          setText(event.target.value);
          setItems([]);
          walk.current.reset();
        }}
        onKeyDown={onKey}
        onBlur={() => setItems([])}
      />
    </div>
  );
}
