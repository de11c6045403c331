import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { askDebug } from "../../../api/debug";
import type { AsyncTask, DebugSession, DebugThread, ExceptionInfo } from "../../../api/types.gen";
import { useWords } from "../../../i18n";
import { baseName } from "../../../ui/format";
import { StateGlyph } from "../../../ui/Glyph";
import ui from "../../../ui/ui.module.css";
import { Button, cx } from "../../../ui/widgets";
import { moreFrames } from "../actions";
import { isStopped } from "../follow";
import { nameOf } from "../left/members";
import { FRAMES } from "../looking";
import s from "../right.module.css";
import { useRight, useThread } from "../session";
import { edited, select, selectFrame, showFile, useDebug } from "../state";
import { stackRows } from "./frames";

export function Stack({ session }: { session: DebugSession }) {
  const { debugger: t } = useWords();
  const thread = useThread();
  const shown = useDebug((state) => state.shown);
  const error = useDebug((state) => state.lookError);
  const right = useRight();
  const now = isStopped(thread) && thread.stop === shown?.stop && thread.threadId === shown.threadId;
  return (
    <section className={cx(s.section, s.stack)} aria-label={t.stack} data-testid="stack" data-old={!now || undefined}>
      <header className={s.head}>
        <h2>{t.stack}</h2>
        <span className={cx(ui.dim, ui.cut)}>{[nameOf(session, t), thread?.name].filter(Boolean).join(" · ")}</span>
      </header>
      <div className={cx(s.scroll, s.stackBox)}>
        {session.threads.length > 1 ? <Threads session={session} selected={thread} /> : null}
        {right === "act" ? (
          <>
            {shown?.exception && now ? <Exception info={shown.exception} /> : null}
            <Frames />
            {now ? <FrozenTasks worker={session.worker_id} /> : null}
            {error !== null && isStopped(thread) ? (
              <p className={cx(s.hint, s.wrong)}>
                {t.lookFailed(error)}{" "}
                <Button small onClick={edited}>
                  {t.retry}
                </Button>
              </p>
            ) : null}
            {thread && !isStopped(thread) && !shown ? <p className={s.hint}>{t.runningThread}</p> : null}
          </>
        ) : (
          <Where thread={thread} />
        )}
      </div>
    </section>
  );
}

function Threads({ session, selected }: { session: DebugSession; selected: DebugThread | null }) {
  const { debugger: t } = useWords();
  return (
    <ul className={s.threads} aria-label={t.threads}>
      {session.threads.map((one) => (
        <li key={one.threadId}>
          <button
            type="button"
            className={s.thread}
            aria-current={one.threadId === selected?.threadId || undefined}
            data-testid="thread"
            data-state={one.state}
            onClick={() => select(session.worker_id, one.threadId)}
          >
            <span data-tone={one.state === "stopped" ? "paused" : "running"} className={ui.tone}>
              <StateGlyph tone={one.state === "stopped" ? "paused" : "running"} size={9} />
            </span>
            <span className={ui.cut}>{one.name}</span>
            <span className={ui.grow} />
            <span className={s.place}>
              {one.file && one.state === "stopped"
                ? `${baseName(one.file)}:${one.line ?? "?"}`
                : t.threadState[one.state]}
            </span>
          </button>
        </li>
      ))}
    </ul>
  );
}

function Frames() {
  const { debugger: t } = useWords();
  const shown = useDebug((state) => state.shown);
  const [unfolded, setUnfolded] = useState<ReadonlySet<number>>(new Set());
  if (!shown) return null;
  const rows = stackRows(shown.frames, shown.index, unfolded, shown.total);
  const onKey = (event: KeyboardEvent<HTMLElement>) => {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    if (event.altKey || event.ctrlKey) return;
    const all = [...event.currentTarget.querySelectorAll<HTMLElement>("button")];
    const at = all.indexOf(document.activeElement as HTMLElement);
    all[at + (event.key === "ArrowDown" ? 1 : -1)]?.focus();
    event.preventDefault();
  };
  return (
    <ol className={s.frames} aria-label={t.stack} onKeyDown={onKey}>
      {rows.map((row) =>
        row.kind === "frame" ? (
          // By its place from the outermost: a step changes the innermost one, and the focus stays.
          <li key={`f${shown.total - row.index}`}>
            <button
              type="button"
              className={cx(s.frame, row.frame.subtle && s.subtle)}
              aria-current={row.index === shown.index || undefined}
              data-testid="frame"
              data-line={row.frame.line}
              title={row.frame.path ? `${row.frame.path}:${row.frame.line}` : t.noFile}
              onClick={() => selectFrame(row.index)}
            >
              <span className={cx(ui.mono, ui.cut)}>{row.frame.name}</span>
              <span className={s.place}>{row.frame.path ? `${baseName(row.frame.path)}:${row.frame.line}` : ""}</span>
            </button>
          </li>
        ) : (
          <li key={`r${row.key}`}>
            <button
              type="button"
              className={cx(s.frame, s.subtle)}
              aria-expanded={row.open}
              onClick={() => {
                const next = new Set(unfolded);
                if (!next.delete(row.key)) next.add(row.key);
                setUnfolded(next);
              }}
            >
              <span>{t.rayFrames(row.count)}</span>
              <span className={s.place}>{row.open ? t.shownToo : t.hidden}</span>
            </button>
          </li>
        ),
      )}
      {shown.frames.length === 0 ? <li className={s.hint}>{t.noFrames}</li> : null}
      {shown.total > shown.frames.length ? <More left={shown.total - shown.frames.length} /> : null}
    </ol>
  );
}

/** The next frames, on request; the focus goes on to the first of them. */
function More({ left }: { left: number }) {
  const { debugger: t } = useWords();
  const [busy, setBusy] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const before = useRef<Element | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: fewer are left: some have come
  useEffect(() => {
    const first = before.current?.nextElementSibling;
    before.current = null;
    if (document.activeElement === button.current) first?.querySelector("button")?.focus();
  }, [left]);
  return (
    <li>
      <button
        ref={button}
        type="button"
        className={cx(s.frame, s.more)}
        aria-disabled={busy}
        data-testid="more-frames"
        onClick={async () => {
          if (busy) return;
          before.current = button.current?.parentElement?.previousElementSibling ?? null;
          setBusy(true);
          await moreFrames();
          setBusy(false);
        }}
      >
        {busy ? t.loading : t.moreFrames(Math.min(FRAMES, left), left)}
      </button>
    </li>
  );
}

const inLoop = (path: string | null): boolean => path !== null && /[\\/]asyncio[\\/]/.test(path);

/** In an async actor the other tasks of its loop stand still as well: which, and where, on request. */
function FrozenTasks({ worker }: { worker: string }) {
  const { debugger: t } = useWords();
  const epoch = useDebug((state) => state.shown?.epoch);
  const some = useDebug((state) => state.shown?.frames.some((one) => inLoop(one.path)) ?? false);
  const [open, setOpen] = useState(false);
  const [tasks, setTasks] = useState<readonly AsyncTask[] | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each stop has its own
  useEffect(() => {
    if (!open || !some) return;
    let wanted = true;
    askDebug(worker, "asyncTasks", {}).then(
      (answer) => wanted && setTasks(answer.tasks),
      () => wanted && setTasks([]),
    );
    return () => {
      wanted = false;
    };
  }, [worker, epoch, open, some]);
  if (!some) return null;
  return (
    <details className={s.tasks} onToggle={(event) => setOpen(event.currentTarget.open)} data-testid="async-tasks">
      <summary>
        {t.asyncTasks} {tasks && open ? <span className={ui.dim}>{tasks.length}</span> : null}
      </summary>
      {(tasks ?? []).map((one, i) => (
        <button
          key={`${one.name} ${i}`}
          type="button"
          className={s.frame}
          disabled={one.file === null}
          onClick={() => one.file !== null && showFile(one.file, one.line ?? 1)}
        >
          <span className={cx(ui.mono, ui.cut)} title={one.name}>
            {one.coroutine}
          </span>
          <span className={s.place}>
            {one.file ? `${baseName(one.file)}:${one.line ?? "?"} ` : ""}
            {t.asyncTask[one.state]}
          </span>
        </button>
      ))}
    </details>
  );
}

/** A viewer sees where it stands, no values. */
function Where({ thread }: { thread: DebugThread | null }) {
  const { debugger: t } = useWords();
  if (!thread?.file) return <p className={s.hint}>{t.noValues}</p>;
  const { file, line } = thread;
  return (
    <button
      type="button"
      className={s.frame}
      aria-current
      data-testid="frame"
      title={`${file}:${line}`}
      onClick={() => showFile(file, line ?? 1)}
    >
      <span className={cx(ui.mono, ui.cut)}>{thread.function ?? "?"}</span>
      <span className={s.place}>
        {baseName(file)}:{line ?? "?"}
      </span>
    </button>
  );
}

function Exception({ info }: { info: ExceptionInfo }) {
  const { debugger: t } = useWords();
  return (
    <div className={s.exception} data-testid="exception">
      <p>
        <b className={ui.mono}>{info.type}</b> {info.message}
      </p>
      {info.cause ? <p className={ui.dim}>{info.cause}</p> : null}
      {info.traceback ? (
        <details>
          <summary>{t.traceback}</summary>
          <pre>{info.traceback}</pre>
        </details>
      ) : null}
    </div>
  );
}
