// The console of a session: entries by number, the newest kept.
import type { Console, ConsoleEntry, DebugSession, Evaluated, Evaluation } from "../../../api/types.gen";

export const MOST_ENTRIES = 5000;

export interface Held {
  entries: readonly ConsoleEntry[];
  /** The number after the last entry that is held. */
  end: number;
  /** Older ones that are no longer kept, here or by the hub. */
  dropped: number;
}

export const EMPTY: Held = { entries: [], end: 0, dropped: 0 };

/** What an answer from `since` on makes of what is held; answers may come twice, or late. */
export function addEntries(held: Held, since: number, answer: Console): Held {
  if (answer.end < held.end && since >= answer.end) return EMPTY; // another hub counts anew
  const fresh = answer.entries.filter((one) => one.number >= held.end);
  if (fresh.length === 0 && answer.end <= held.end) return held;
  const all = [...held.entries, ...fresh];
  const cut = Math.max(0, all.length - MOST_ENTRIES);
  return {
    entries: cut > 0 ? all.slice(cut) : all,
    end: Math.max(held.end, answer.end),
    dropped: Math.max(held.dropped, answer.dropped) + cut,
  };
}

/** From where to ask, or null: all is held. */
export function askFrom(held: Held, session: Pick<DebugSession, "console_end">): number | null {
  if (session.console_end > held.end) return held.end;
  return session.console_end < held.end ? 0 : null;
}

/** Evaluations take time: those that haven't come back for so long get a row of their own. */
export const SLOW_MS = 1000;

export const slowOnes = (evaluations: readonly Evaluation[], nowMs: number): Evaluation[] =>
  evaluations.filter((one) => nowMs - one.since_ns / 1e6 >= SLOW_MS);

/** What this page asked for and has the answer to; the console's own entries of it come a round trip later. */
export interface Ahead {
  expression: string;
  at_ns: number;
  value: Evaluated;
}

/** The entries that are about to come, so that a result is seen as soon as it is there. */
export function entriesAhead(ahead: readonly Ahead[], entries: readonly ConsoleEntry[]): ConsoleEntry[] {
  if (ahead.length === 0) return [];
  const held = new Set(entries.slice(-100).map((one) => `${one.kind} ${one.evaluation}`));
  return ahead.flatMap(({ expression, at_ns, value }): ConsoleEntry[] => {
    const evaluation = value.evaluation ?? 0;
    if (held.has(`result ${evaluation}`)) return [];
    const common = { number: -evaluation, at_ns, evaluation, running: value.running ?? false };
    const result: ConsoleEntry = {
      ...common,
      kind: "result",
      text: value.result,
      type: value.type ?? "",
      variablesReference: value.variablesReference ?? 0,
      summary: value.summary ?? null,
    };
    return held.has(`input ${evaluation}`)
      ? [result]
      : [{ ...common, number: -evaluation - 0.5, kind: "input", text: expression }, result];
  });
}

/** Consecutive pieces of what the process printed are one text, so that they can be read and copied as such. */
export interface Block {
  key: number;
  entry: ConsoleEntry;
  text: string;
}

export function blocksOf(entries: readonly ConsoleEntry[]): Block[] {
  const blocks: Block[] = [];
  for (const entry of entries) {
    const last = blocks.at(-1);
    const joins = (entry.kind === "stdout" || entry.kind === "stderr") && last?.entry.kind === entry.kind;
    if (joins && last && last.text.length < 8000)
      last.text += last.text.endsWith("\n") ? entry.text : `\n${entry.text}`;
    else blocks.push({ key: entry.number, entry, text: entry.text });
  }
  return blocks;
}
