// Which thread is looked at.
import type { DebugSession, DebugThread, PausedSite, PausedThread } from "../../api/types.gen";

export const isStopped = (thread: DebugThread | undefined | null): thread is DebugThread => thread?.state === "stopped";

const newestStop = (session: DebugSession): number => Math.max(0, ...session.threads.map((one) => one.stop));

/**
 * The thread to look at, given the one that was. It stays while it stands still, and while it runs and no other stops
 * anew: in the moment of a step it is running too. `seen`: the newest stop of the session when it was last stopped.
 */
export function followThread(session: DebugSession, threadId: number | null, seen: number): DebugThread | null {
  const { threads } = session;
  const held = threads.find((one) => one.threadId === threadId);
  if (isStopped(held)) return held;
  const stopped = threads.filter(isStopped).sort((a, b) => b.stop - a.stop);
  if (!held) return stopped[0] ?? threads[0] ?? null;
  const newest = stopped[0];
  return newest && newest.stop > seen ? newest : held;
}

export { newestStop };

/** The thread of a session that stands at a place: by the ids that are told, else by the place. */
export function threadAt(session: DebugSession, site: PausedSite, member: PausedThread): DebugThread | null {
  const known =
    session.threads.find((one) => one.threadId === member.session_thread_id) ??
    session.threads.find((one) => one.os_thread_id !== null && one.os_thread_id === member.thread_id);
  const here = session.threads.filter((one) => isStopped(one) && one.file === site.file && one.line === site.line);
  return (
    known ??
    here.find((one) => member.task_id !== null && one.task_id === member.task_id) ??
    here.find((one) => one.name === member.thread_name) ??
    here[0] ??
    null
  );
}
