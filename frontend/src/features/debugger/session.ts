// The session that is looked at, from the newest rows: a frozen view doesn't hold a worker.
import { useClock } from "../../api/clock";
import { useCluster, useLink } from "../../api/stores";
import type { DebugSession, DebugThread } from "../../api/types.gen";
import { followThread } from "./follow";
import { type DebugState, useDebug } from "./state";

export const sessionOf = (worker: string | null): DebugSession | null =>
  worker === null ? null : (useCluster.getState().newest.sessions.get(worker) ?? null);

export const useSessions = (): ReadonlyMap<string, DebugSession> => useCluster((s) => s.newest.sessions);

export function useSession(): DebugSession | null {
  const worker = useDebug((s) => s.worker);
  return useSessions().get(worker ?? "") ?? null;
}

export const threadOf = (session: DebugSession | null, state: Pick<DebugState, "threadId" | "seen">) =>
  session && followThread(session, state.threadId, state.seen);

export function useThread(): DebugThread | null {
  const session = useSession();
  const threadId = useDebug((s) => s.threadId);
  const seen = useDebug((s) => s.seen);
  return threadOf(session, { threadId, seen });
}

/** Names the stop that references are valid in: numbers of stops begin anew with each attaching. */
export const stopKey = (session: DebugSession, thread: DebugThread): string =>
  `${session.worker_id}/${session.attached_ns}/${thread.threadId}/${thread.stop}`;

export type Right = "act" | "read" | "none";

/** Debuggers act, viewers read, others see neither. */
export const useRight = (): Right =>
  useLink(({ welcome }) => (welcome?.role === "debugger" ? "act" : welcome?.role === "viewer" ? "read" : "none"));

export const rightNow = (): Right => {
  const role = useLink.getState().welcome?.role;
  return role === "debugger" ? "act" : role === "viewer" ? "read" : "none";
};

/** Whether what is shown is the present: the stream flows, and the hub reaches the worker. */
export function useReachable(): boolean {
  const session = useSession();
  const live = useLink((link) => link.phase === "live" && !link.stale);
  return live && session?.lost_ns == null;
}

/** Watches and hovers evaluate all the time: only what lasts keeps a thread from going on. */
export function useBusy(session: DebugSession | null, thread: DebugThread | null): boolean {
  const now = useClock((clock) => clock.now);
  const running = session?.evaluations.find((one) => one.evaluation === thread?.busy);
  return running !== undefined && now - running.since_ns / 1e6 > BUSY_MS;
}
const BUSY_MS = 1000;
