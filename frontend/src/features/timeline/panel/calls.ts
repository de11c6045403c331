// The same call on all ranks: is this one odd?
import type { Task } from "../../../api/types.gen";

export interface Peer {
  task: Task;
  /** How long it ran, ns. */
  ran: number;
}

export interface Comparison {
  peers: Peer[];
  own: Peer;
  median: number;
  /** How many of the others were faster. */
  faster: number;
  /** Ranks on which this call hasn't ended. */
  open: number;
}

const ENDED: ReadonlySet<string> = new Set(["FINISHED", "FAILED"]);

const ranFor = (task: Task): number | null =>
  task.start_ns === null || task.end_ns === null ? null : Math.max(0, task.end_ns - task.start_ns);

/**
 * The attempts that belong to the same call of a WorkerGroup's method as `own`: of each other rank the one of this name
 * and parent that was submitted nearest in time. Null where that isn't known of at least two ranks.
 */
export function sameCall(own: Task, candidates: readonly Task[]): Comparison | null {
  const mine = ranFor(own);
  if (mine === null || own.group_id === null || own.submit_ns === null || own.parent_task_id === null) return null;
  const nearest = new Map<string, Task>();
  for (const task of candidates) {
    if (task.name !== own.name || task.group_id !== own.group_id || task.parent_task_id !== own.parent_task_id)
      continue;
    if (task.actor_id === null || task.actor_id === own.actor_id || task.submit_ns === null) continue;
    const known = nearest.get(task.actor_id);
    const away = Math.abs(task.submit_ns - own.submit_ns);
    if (!known || away < Math.abs((known.submit_ns ?? 0) - own.submit_ns)) nearest.set(task.actor_id, task);
  }
  const peers: Peer[] = [{ task: own, ran: mine }];
  for (const task of nearest.values()) {
    const ran = ranFor(task);
    if (ran !== null) peers.push({ task, ran });
  }
  if (peers.length < 2) return null;
  const sorted = peers.map((peer) => peer.ran).sort((a, b) => a - b);
  const half = sorted.length >> 1;
  const upper = sorted[half] as number;
  const median = sorted.length % 2 === 1 ? upper : (upper + (sorted[half - 1] as number)) / 2;
  return {
    peers,
    own: peers[0] as Peer,
    median,
    faster: peers.filter((peer) => peer.ran < mine).length,
    open: [...nearest.values()].filter((task) => task.end_ns === null && !ENDED.has(task.state)).length,
  };
}

/** Where each duration lies on a line from 0 to 1, and how high it is stacked above those it would cover. */
export function dots(comparison: Comparison, columns: number): { peer: Peer; x: number; row: number }[] {
  const all = comparison.peers.map((peer) => peer.ran);
  const low = Math.min(...all);
  const wide = Math.max(...all) - low || 1;
  const heights = new Map<number, number>();
  return [...comparison.peers]
    .sort((a, b) => a.ran - b.ran)
    .map((peer) => {
      const column = Math.round(((peer.ran - low) / wide) * (columns - 1));
      const row = heights.get(column) ?? 0;
      heights.set(column, row + 1);
      return { peer, x: columns === 1 ? 0 : column / (columns - 1), row };
    });
}
