import { memo, useMemo } from "react";
import { useClock } from "../../../api/clock";
import type { ConsoleEntry, DebugSession, Evaluation } from "../../../api/types.gen";
import { useWords } from "../../../i18n";
import { formatDuration } from "../../../ui/format";
import ui from "../../../ui/ui.module.css";
import { cx } from "../../../ui/widgets";
import s from "../console.module.css";
import { Tree } from "../right/Tree";
import { say } from "../values";
import { type Ahead, type Block, blocksOf, entriesAhead, slowOnes } from "./entries";
import { useConsole, useConsoles } from "./store";
import { useEnd } from "./useEnd";

const NONE: readonly Ahead[] = [];

/** Output, results, errors; stays at its end unless one has scrolled up, and goes there for what one runs. */
export function Log({ session }: { session: DebugSession }) {
  const { debugger: t } = useWords();
  const held = useConsole(session);
  const ahead = useConsoles((state) => state.ahead.get(session.worker_id)) ?? NONE;
  const blocks = useMemo(
    () => [...blocksOf(held.entries), ...blocksOf(entriesAhead(ahead, held.entries))],
    [held.entries, ahead],
  );
  const now = useClock((clock) => clock.now);
  const slow = slowOnes(session.evaluations, now);
  const runs = useConsoles((state) => state.runs.get(session.worker_id));
  const rows = useMemo(() => ({ blocks, slow: slow.length }), [blocks, slow.length]);
  const { box, inner, onScroll } = useEnd(runs, rows);
  return (
    <div
      ref={box}
      className={s.log}
      role="log"
      aria-label={t.console}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls
      tabIndex={0}
      onScroll={onScroll}
    >
      <div ref={inner} className={s.rows}>
        {held.dropped > 0 ? <p className={ui.dim}>{t.dropped(held.dropped)}</p> : null}
        {blocks.map((block) => (
          <Entry key={block.key} block={block} text={block.text} worker={session.worker_id} />
        ))}
        {slow.map((one) => (
          <StillRunning key={one.evaluation} one={one} now={now} />
        ))}
      </div>
    </div>
  );
}

function StillRunning({ one, now }: { one: Evaluation; now: number }) {
  const { debugger: t, units } = useWords();
  return (
    <div className={s.entry} data-kind="slow" data-testid="still-running">
      <span className={s.sign}>›</span>
      <span className={s.body}>
        <span className={s.expression}>{one.expression}</span>{" "}
        <i className={s.badge}>{t.stillRunningSince(formatDuration(now - one.since_ns / 1e6, units))}</i>
      </span>
      <span className={s.who}>{one.who}</span>
    </div>
  );
}

interface EntryProps {
  block: Block;
  text: string;
  worker: string;
}

/** Blocks are made anew with each entry; most of them are what they were. */
const sameEntry = (a: EntryProps, b: EntryProps): boolean =>
  a.block.entry === b.block.entry && a.text === b.text && a.worker === b.worker;

const Entry = memo(function Entry({ block, text, worker }: EntryProps) {
  const { debugger: t } = useWords();
  const { entry } = block;
  const sign = entry.kind === "input" ? "›" : entry.kind === "result" ? "=" : entry.kind === "log" ? "◆" : "";
  return (
    <div
      className={s.entry}
      data-kind={entry.kind}
      data-testid="console-entry"
      data-evaluation={entry.evaluation ?? undefined}
    >
      <span className={s.sign} aria-hidden="true">
        {sign}
      </span>
      <span className={s.body}>
        {t.kindOf[entry.kind] ? <span className={ui.hidden}>{t.kindOf[entry.kind]}: </span> : null}
        {entry.kind === "result" && (entry.variablesReference ?? 0) > 0 ? (
          <Result entry={entry} worker={worker} />
        ) : entry.kind === "result" ? (
          <span className={cx(s.result, s[say({ value: text, type: entry.type, summary: entry.summary }).look])}>
            {text}
          </span>
        ) : (
          text.replace(/\n$/, "")
        )}
        {entry.running ? <i className={s.badge}>{t.onRunning}</i> : null}
      </span>
      <span className={s.who}>
        {entry.kind === "input" ? entry.who : null}
        {entry.took_ms != null && entry.kind !== "input" ? t.took(entry.took_ms) : null}
      </span>
    </div>
  );
}, sameEntry);

/** A result with something in it, as a tree of one root. */
function Result({ entry, worker }: { entry: ConsoleEntry; worker: string }) {
  const { debugger: t } = useWords();
  const root = useMemo(
    () => ({
      base: `c:${worker}:${entry.number}`,
      epoch: `${worker}/console`,
      variables: [
        {
          name: entry.type || t.console,
          value: entry.text,
          type: entry.type,
          variablesReference: entry.variablesReference,
          summary: entry.summary,
        },
      ],
    }),
    [entry, worker, t],
  );
  return <Tree root={root} worker={worker} label={entry.text.slice(0, 60)} allowed />;
}
