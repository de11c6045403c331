import { useEffect, useId, useMemo, useRef, useState } from "react";
import { hubNow } from "../../../api/clock";
import { useTable } from "../../../api/hooks";
import type { Lane, Task } from "../../../api/types.gen";
import { useWords } from "../../../i18n";
import { StateGlyph } from "../../../ui/Glyph";
import ui from "../../../ui/ui.module.css";
import { cx } from "../../../ui/widgets";
import { search, useTimeline } from "../state";
import { clockTime, duration } from "../times";
import { markState, useTasks } from "./ask";
import { show } from "./jump";
import { toneOf } from "./look";
import s from "./panel.module.css";

const OWN_KEYS = "input, textarea, select, [contenteditable], [role=menu], [role=dialog]";
const SHOWN = 50;

/** "actor_rollout › actor › rank 3" */
export function lanePath(laneId: string | null, lanes: ReadonlyMap<string, Lane>): string {
  const path: string[] = [];
  for (let id = laneId, i = 0; id && i < 4; i++) {
    const lane: Lane | undefined = lanes.get(id);
    if (!lane) break;
    path.unshift(lane.label);
    id = lane.parent_lane_id;
  }
  return path.join(" › ");
}

/** Finds tasks by method, rank, id or error; Enter goes there. */
export function Search() {
  const t = useWords().timelinePanel;
  const q = useTimeline((state) => state.q);
  const jobId = useTimeline((state) => state.jobId);
  const lanes = useTable("lanes");
  const [open, setOpen] = useState(false);
  const [at, setAt] = useState(0);
  const [typed, setTyped] = useState(q);
  const input = useRef<HTMLInputElement>(null);
  const list = useId();
  useEffect(() => setTyped(q), [q]);
  // The question waits for a pause in the typing.
  useEffect(() => {
    const timer = window.setTimeout(() => search(typed.trim()), 150);
    return () => window.clearTimeout(timer);
  }, [typed]);
  const { answer, error } = useTasks(
    jobId !== null && q !== "" && open ? { job_id: jobId, text: q, limit: SHOWN } : null,
    null,
  );
  const found = useMemo(() => answer?.tasks ?? [], [answer]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another answer begins at its first row
  useEffect(() => setAt(0), [answer]);
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      const target = event.target instanceof Element ? event.target : document.body;
      if (event.key !== "/" || event.defaultPrevented || event.ctrlKey || event.metaKey || target.closest(OWN_KEYS))
        return;
      event.preventDefault();
      input.current?.focus();
      input.current?.select();
    };
    window.addEventListener("keydown", listen);
    return () => window.removeEventListener("keydown", listen);
  }, []);

  const go = (task: Task | undefined) => {
    if (!task) return;
    setOpen(false);
    input.current?.blur();
    show(task, hubNow() * 1e6);
  };
  const shown = open && q !== "";
  return (
    <search
      className={s.search}
      onBlur={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget)) setOpen(false);
      }}
    >
      <input
        ref={input}
        type="search"
        role="combobox"
        aria-expanded={shown}
        aria-controls={list}
        aria-activedescendant={shown && found[at] ? `${list}-${at}` : undefined}
        aria-label={t.search}
        placeholder={t.search}
        value={typed}
        spellCheck={false}
        autoComplete="off"
        onFocus={() => setOpen(true)}
        onChange={(event) => {
          setTyped(event.target.value);
          setOpen(true);
        }}
        onKeyDown={(event) => {
          if (event.key === "ArrowDown" || event.key === "ArrowUp") {
            event.preventDefault();
            const by = event.key === "ArrowDown" ? 1 : -1;
            setAt((old) => Math.max(0, Math.min(found.length - 1, old + by)));
          } else if (event.key === "Enter") {
            go(found[at]);
          } else if (event.key === "Escape") {
            event.preventDefault();
            event.stopPropagation();
            if (typed !== "") {
              setTyped("");
              search("");
            } else input.current?.blur();
          }
        }}
      />
      <span className={s.key}>/</span>
      {shown ? (
        <div className={s.found}>
          <p className={ui.dim} role="status">
            {error !== null ? t.searchFailed : answer === null ? t.searching : t.foundTasks(answer.total, found.length)}
          </p>
          <div role="listbox" id={list} aria-label={t.results}>
            {found.map((task, i) => (
              <Found
                key={`${task.task_id}:${task.attempt}`}
                id={`${list}-${i}`}
                task={task}
                path={lanePath(task.lane_id, lanes)}
                on={i === at}
                onPick={() => go(task)}
              />
            ))}
          </div>
        </div>
      ) : null}
    </search>
  );
}

function Found(props: { id: string; task: Task; path: string; on: boolean; onPick: () => void }) {
  const { id, task, path, on, onPick } = props;
  const words = useWords();
  const own = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (on) own.current?.scrollIntoView?.({ block: "nearest" });
  }, [on]);
  const state = markState(task);
  const start = task.start_ns ?? task.submit_ns;
  const end = task.end_ns;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are the combobox's
    <div
      ref={own}
      id={id}
      role="option"
      tabIndex={-1}
      aria-selected={on}
      className={s.row}
      onMouseDown={(event) => event.preventDefault()}
      onClick={onPick}
    >
      <span className={ui.tone} data-tone={toneOf(state)} title={words.timeline.states[state]}>
        <StateGlyph tone={toneOf(state)} />
      </span>
      <span className={cx(ui.mono, ui.cut)}>{task.name ?? words.timeline.unnamed}</span>
      <span className={cx(ui.dim, ui.cut)}>{path}</span>
      <span className={cx(ui.num, ui.dim)}>{start === null ? "" : clockTime(start, 1e9)}</span>
      <span className={ui.num}>{start === null || end === null ? "" : duration(end - start)}</span>
    </div>
  );
}
