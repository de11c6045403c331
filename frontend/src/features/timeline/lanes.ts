// Which lanes stand below each other: the tree of lanes, folded as the rule and the hand have it.
import type { Lane, Pause } from "../../api/types.gen";

export interface LaneRow {
  kind: "lane";
  key: string;
  lane: Lane;
  level: number;
  /** Null: nothing below it. `some`: folded, but for those that need a person. */
  fold: "open" | "closed" | "some" | null;
  /** How many actors or workers it sums up: a rank has a lane in each of its roles. */
  leaves: number;
}

/** What a folded lane doesn't show. */
export interface RestRow {
  kind: "rest";
  key: string;
  of: string;
  level: number;
  count: number;
}

export type Row = LaneRow | RestRow;

/** A lane with so few below it is open by itself. */
export const FEW = 8;
/** Of those that are paused, a folded lane shows at most this many; of those on which something once failed, fewer. */
export const MOST_PAUSED = 16;
export const MOST_FAILED = 6;

export interface LaneTree {
  readonly roots: readonly Lane[];
  readonly below: ReadonlyMap<string, readonly Lane[]>;
  readonly leaves: ReadonlyMap<string, readonly Lane[]>;
}

const inOrder = (a: Lane, b: Lane) => a.order - b.order || (a.lane_id < b.lane_id ? -1 : 1);

export function treeOf(lanes: ReadonlyMap<string, Lane>, jobId: string | null): LaneTree {
  const below = new Map<string, Lane[]>();
  const roots: Lane[] = [];
  for (const lane of lanes.values()) {
    if (lane.job_id !== jobId) continue;
    const parent = lane.parent_lane_id;
    // A lane whose parent isn't known (yet) must not vanish.
    if (parent === null || !lanes.has(parent) || parent === lane.lane_id) roots.push(lane);
    else {
      const list = below.get(parent);
      if (list) list.push(lane);
      else below.set(parent, [lane]);
    }
  }
  roots.sort(inOrder);
  for (const list of below.values()) list.sort(inOrder);
  const leaves = new Map<string, Lane[]>();
  const collect = (lane: Lane, depth: number): Lane[] => {
    const children = below.get(lane.lane_id);
    if (!children || depth > 8) return [lane];
    const all = children.flatMap((child) => collect(child, depth + 1));
    leaves.set(lane.lane_id, all);
    return all;
  };
  for (const root of roots) collect(root, 0);
  return { roots, below, leaves };
}

const countOf = (lanes: readonly Lane[]): number =>
  new Set(lanes.map((lane) => lane.actor_id ?? lane.worker_id ?? lane.lane_id)).size;

/** By default open: few lanes below it, or the roles of a group. */
const openByRule = (children: readonly Lane[]) => children.length <= FEW || children.every((c) => c.kind === "role");

function keptOf(all: readonly Lane[], paused: ReadonlySet<string>): Lane[] {
  const held = all.filter((lane) => paused.has(lane.lane_id)).slice(0, MOST_PAUSED);
  const failed = all.filter((lane) => lane.failed > 0 && !paused.has(lane.lane_id)).slice(0, MOST_FAILED);
  const kept = new Set([...held, ...failed]);
  return all.filter((lane) => kept.has(lane));
}

export function rowsOf(
  { roots, below, leaves }: LaneTree,
  folds: ReadonlyMap<string, boolean>,
  only: ReadonlySet<string> | null,
  paused: ReadonlySet<string>,
): Row[] {
  const rows: Row[] = [];
  const add = (lane: Lane, level: number): void => {
    const key = lane.lane_id;
    const children = below.get(key);
    if (!children || level > 8) {
      rows.push({ kind: "lane", key, lane, level, fold: null, leaves: 0 });
      return;
    }
    const hand = folds.get(key);
    const all = leaves.get(key) ?? [];
    const open = hand ?? openByRule(children);
    const kept = open || hand === false ? [] : keptOf(all, paused);
    const fold = open ? "open" : kept.length > 0 ? "some" : "closed";
    rows.push({ kind: "lane", key, lane, level, fold, leaves: countOf(all) });
    if (open) for (const child of children) add(child, level + 1);
    for (const one of kept)
      rows.push({ kind: "lane", key: one.lane_id, lane: one, level: level + 1, fold: null, leaves: 0 });
    const left = all.length - kept.length;
    if (kept.length > 0 && left > 0)
      rows.push({ kind: "rest", key: `${key} rest`, of: key, level: level + 1, count: left });
  };
  for (const root of roots) if (only === null || only.has(root.lane_id)) add(root, 0);
  return rows;
}

/** Pauses by the lanes they lie on; those of a sum are those below it. `paused`: lanes on which one goes on. */
export function pausesByLane(all: Iterable<Pause>, { leaves }: LaneTree) {
  const pauses = new Map<string, Pause[]>();
  const paused = new Set<string>();
  for (const pause of all)
    for (const id of pause.lane_ids) {
      const list = pauses.get(id);
      if (list) list.push(pause);
      else pauses.set(id, [pause]);
      if (pause.end_ns === null) paused.add(id);
    }
  for (const [sum, below] of leaves) {
    const own = new Set([...(pauses.get(sum) ?? []), ...below.flatMap(({ lane_id }) => pauses.get(lane_id) ?? [])]);
    if (own.size > 0) pauses.set(sum, [...own]);
  }
  return { pauses, paused };
}
