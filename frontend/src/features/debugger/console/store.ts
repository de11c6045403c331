// Fetches consoles: what the rows say is new is asked for, one question at a time.
import { useEffect } from "react";
import { create } from "zustand";
import { askDebug, reasonOf } from "../../../api/debug";
import { useLink } from "../../../api/stores";
import type { DebugSession } from "../../../api/types.gen";
import { withFormat } from "../format";
import { shownFrame } from "../looking";
import { sessionOf, useRight } from "../session";
import { edited, notify, useDebug } from "../state";
import { type Ahead, addEntries, askFrom, EMPTY, type Held } from "./entries";

interface Consoles {
  held: ReadonlyMap<string, Held>;
  ahead: ReadonlyMap<string, readonly Ahead[]>;
  /** How often something was run here: whoever runs something wants to see what comes of it. */
  runs: ReadonlyMap<string, number>;
}

export const useConsoles = create<Consoles>(() => ({ held: new Map(), ahead: new Map(), runs: new Map() }));

const MOST_AHEAD = 8;
const goAhead = (worker: string, one: Ahead): void =>
  useConsoles.setState(({ ahead }) => ({
    ahead: new Map(ahead).set(worker, [...(ahead.get(worker) ?? []), one].slice(-MOST_AHEAD)),
  }));

export const consoleOf = (worker: string): Held => useConsoles.getState().held.get(worker) ?? EMPTY;

const busy = new Map<string, Promise<void>>();

/** Up to now, whatever the row says: an evaluation's outcome is there before its row. */
export function refreshConsole(worker: string): Promise<void> {
  const running = busy.get(worker);
  // The answer that is on its way may have left before what is wanted was there.
  if (running) return running.then(() => refreshConsole(worker));
  const since = consoleOf(worker).end;
  const asked = askDebug(worker, "console", { since })
    .then(
      (answer) =>
        useConsoles.setState(({ held }) => ({
          held: new Map(held).set(worker, addEntries(held.get(worker) ?? EMPTY, since, answer)),
        })),
      () => undefined, // the next row asks again
    )
    .finally(() => busy.delete(worker));
  busy.set(worker, asked);
  return asked;
}

export function useConsole(session: DebugSession): Held {
  const worker = session.worker_id;
  const held = useConsoles((s) => s.held.get(worker)) ?? EMPTY;
  const live = useLink((link) => link.phase === "live");
  const may = useRight() === "act";
  const from = askFrom(held, session);
  // biome-ignore lint/correctness/useExhaustiveDependencies: what grew while one asked is asked for next
  useEffect(() => {
    if (!live || !may || from === null) return;
    if (from === 0 && held.end > 0) useConsoles.setState((s) => ({ held: new Map(s.held).set(worker, EMPTY) }));
    else if (!busy.has(worker)) void refreshConsole(worker);
  }, [worker, from, held.end, live, may, session.console_end]);
  return held;
}

/**
 * What was evaluated may have changed what is shown. A stopped thread answers one question after the other: who goes on
 * evaluating isn't made to wait for values in between.
 */
function readAgainSoon(): void {
  window.clearTimeout(timer);
  timer = window.setTimeout(edited, QUIET_MS);
}
const QUIET_MS = 250;
let timer: number | undefined;

/** Runs what was typed in the frame that is shown; without one, in the running process. */
export async function run(worker: string, expression: string): Promise<void> {
  const { shown } = useDebug.getState();
  const thread = sessionOf(worker)?.threads.find((one) => one.threadId === shown?.threadId);
  const here = shown?.worker === worker && thread?.state === "stopped" && thread.stop === shown.stop;
  const frame = here ? shownFrame(shown) : null;
  const before = consoleOf(worker).end;
  window.clearTimeout(timer);
  useConsoles.setState(({ runs }) => ({ runs: new Map(runs).set(worker, (runs.get(worker) ?? 0) + 1) }));
  try {
    const where = frame ? { frameId: frame.id } : {};
    const value = await askDebug(worker, "evaluate", withFormat({ expression, context: "repl" as const, ...where }));
    if (!value.waiting) goAhead(worker, { expression, at_ns: Date.now() * 1e6, value });
    await refreshConsole(worker);
    if (!value.waiting) readAgainSoon();
  } catch (error) {
    await refreshConsole(worker);
    const told = consoleOf(worker).entries.some((one) => one.number >= before && one.kind === "error");
    const reason = reasonOf(error);
    if (!told && reason !== null) notify(reason);
  }
}
