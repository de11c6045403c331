// What acts on the worker. All of it is refused here too where the page says so, since keys come by other ways.
import { askDebug, type Command, type Commands, reasonOf } from "../../api/debug";
import { useLink } from "../../api/stores";
import type { Breakpoint, SourceBreakpoint } from "../../api/types.gen";
import { withBreakpoint } from "./breakpoints";
import { isStopped } from "./follow";
import { FRAMES, shownFrame } from "./looking";
import { rightNow, sessionOf, threadOf } from "./session";
import { edited, notify, useDebug } from "./state";

/** Asks, and says on the page what went wrong. */
export async function act<C extends Command>(
  worker: string,
  command: C,
  args: Commands[C][0],
): Promise<Commands[C][1] | null> {
  if (rightNow() !== "act" || useLink.getState().phase !== "live") return null;
  try {
    const answer = await askDebug(worker, command, args);
    if (useDebug.getState().notice) notify(null);
    return answer;
  } catch (error) {
    const reason = reasonOf(error);
    if (reason !== null) notify(reason);
    return null;
  }
}

export const attach = (worker: string) => act(worker, "attach", {});
export const detach = (worker: string) => act(worker, "detach", {});

const current = () => {
  const state = useDebug.getState();
  const session = sessionOf(state.worker);
  return { state, session, thread: threadOf(session, state) };
};

export type Step = "continue" | "next" | "stepIn" | "stepOut" | "pause";

export async function step(command: Step, targetId?: number): Promise<void> {
  const { state, session, thread } = current();
  if (!session || !thread || session.lost_ns !== null) return;
  const { worker_id: worker } = session;
  const { threadId } = thread;
  if (command === "pause") {
    if (!isStopped(thread)) await act(worker, "pause", state.allThreads ? {} : { threadId });
    return;
  }
  if (!isStopped(thread)) return;
  if (thread.unwound && command !== "continue") return;
  if (command === "continue") await act(worker, "continue", { threadId, all: state.allThreads });
  else if (command === "stepIn")
    await act(worker, "stepIn", targetId === undefined ? { threadId } : { threadId, targetId });
  else await act(worker, command, { threadId });
}

/** Fetches the next frames of the stack that is shown; whether there were any. */
export async function moreFrames(): Promise<boolean> {
  const { shown } = useDebug.getState();
  if (!shown || shown.frames.length >= shown.total) return false;
  const { worker, threadId, frames } = shown;
  const asked = { threadId, startFrame: frames.length, levels: FRAMES };
  const answer = await act(worker, "stackTrace", asked);
  const now = useDebug.getState().shown;
  const same = now?.worker === worker && now.threadId === threadId && now.stop === shown.stop;
  if (!answer || !same || now.frames.length !== frames.length || answer.stackFrames.length === 0) return false;
  useDebug.setState({ shown: { ...now, frames: [...now.frames, ...answer.stackFrames] } });
  return true;
}

export async function toLine(command: "runTo" | "goto", path: string, line: number): Promise<void> {
  const { session, thread } = current();
  if (!session || !isStopped(thread) || session.lost_ns !== null || thread.unwound) return;
  await act(session.worker_id, command, { threadId: thread.threadId, path, line });
}

export async function setBreakpoint(
  path: string,
  line: number,
  one: Omit<SourceBreakpoint, "line"> | null,
): Promise<void> {
  const { session } = current();
  if (!session) return;
  const breakpoints = withBreakpoint(session.breakpoints, path, line, one);
  await act(session.worker_id, "setBreakpoints", { path, breakpoints });
}

export const toggleBreakpoint = (all: readonly Breakpoint[], path: string, line: number): Promise<void> =>
  setBreakpoint(path, line, all.some((one) => one.path === path && one.line === line) ? null : { enabled: true });

export const setFunctions = (worker: string, names: string[]) => act(worker, "setFunctionBreakpoints", { names });
export const setFilters = (worker: string, filters: string[], types: string[]) =>
  act(worker, "setExceptionBreakpoints", { filters, types });

/** Writes a new value; what else changed by it is read anew. */
export async function setVariable(evaluateName: string, value: string): Promise<boolean> {
  const { state, session } = current();
  const frame = shownFrame(state.shown);
  if (!session || !frame) return false;
  const done = await act(session.worker_id, "setVariable", { frameId: frame.id, evaluateName, value });
  if (done) edited();
  return done !== null;
}
