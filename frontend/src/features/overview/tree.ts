// From flat rows to what made what: driver > actors that create > WorkerGroups > what their members create.
import type { Actor, Group, Node } from "../../api/types.gen";
import { type ShownState, stateOf } from "./doing";

/** What one maker made: the driver (`actor` null at the root), an actor, or all members of a group together. */
export interface Branch {
  actor: Actor | null;
  groups: GroupNode[];
  /** Actors outside groups that made something themselves. */
  creators: Branch[];
  /** Actors outside groups that made nothing. */
  plain: Actor[];
}

export interface GroupNode {
  group: Group;
  members: Actor[];
  made: Branch;
}

export interface GridRow {
  key: string;
  label: string;
  lost: boolean;
  cells: Cell[];
}

/** `actor` null: a rank the job declares and nobody has seen yet. */
export interface Cell {
  key: string;
  rank: number | null;
  actor: Actor | null;
}

const byRank = (a: Actor, b: Actor) => (a.rank ?? Infinity) - (b.rank ?? Infinity) || byAge(a, b);
const names = new Intl.Collator("en", { numeric: true });
const byAge = (a: Actor, b: Actor) =>
  (a.start_ns ?? 0) - (b.start_ns ?? 0) ||
  names.compare(`${a.class_name} ${a.name ?? ""}`, `${b.class_name} ${b.name ?? ""}`) ||
  names.compare(a.actor_id, b.actor_id);

function push<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}

export function buildTree(jobId: string, groups: Iterable<Group>, actors: Iterable<Actor>): Branch {
  const members = new Map<string, Actor[]>();
  const loose = new Map<string | null, Actor[]>();
  const known = new Set<string>();
  const mine = [...actors].filter((a) => a.job_id === jobId);
  const ownGroups = [...groups].filter((g) => g.job_id === jobId);
  const groupIds = new Set(ownGroups.map((g) => g.group_id));
  for (const actor of mine) {
    known.add(actor.actor_id);
    if (actor.group_id && groupIds.has(actor.group_id)) push(members, actor.group_id, actor);
  }
  // A maker that isn't known (any more) leaves its children to the driver.
  const maker = (id: string | null) => (id !== null && known.has(id) ? id : null);
  for (const actor of mine) {
    if (!actor.group_id || !groupIds.has(actor.group_id)) push(loose, maker(actor.parent_actor_id), actor);
  }
  const groupsOf = new Map<string | null, Group[]>();
  const size = (group: Group) => group.world_size ?? members.get(group.group_id)?.length ?? 0;
  ownGroups.sort((a, b) => size(b) - size(a) || names.compare(a.name, b.name) || names.compare(a.group_id, b.group_id));
  for (const group of ownGroups) push(groupsOf, maker(group.parent_actor_id), group);

  const placed = new Set<string>();
  const fill = (branch: Branch, id: string | null): Branch => {
    for (const group of groupsOf.get(id) ?? []) {
      if (placed.has(group.group_id)) continue;
      placed.add(group.group_id);
      const list = (members.get(group.group_id) ?? []).sort(byRank);
      const made: Branch = { actor: null, groups: [], creators: [], plain: [] };
      for (const member of list) fill(made, member.actor_id);
      branch.groups.push({ group, members: list, made });
    }
    for (const actor of (loose.get(id) ?? []).sort(byAge)) {
      if (placed.has(actor.actor_id)) continue;
      placed.add(actor.actor_id);
      if (groupsOf.has(actor.actor_id) || loose.has(actor.actor_id)) {
        branch.creators.push(fill({ actor, groups: [], creators: [], plain: [] }, actor.actor_id));
      } else branch.plain.push(actor);
    }
    return branch;
  };
  const root = fill({ actor: null, groups: [], creators: [], plain: [] }, null);
  // Makers in a circle can't be, but nothing may vanish if they are.
  for (const id of [...groupsOf.keys(), ...loose.keys()]) if (id !== null) fill(root, id);
  return root;
}

/** A chain of makers with one maker each, drawn in one line: driver, then for example TaskRunner. */
export function chainOf(root: Branch): { chain: Actor[]; plain: Actor[]; rest: Branch } {
  const chain: Actor[] = [];
  const plain: Actor[] = [];
  let branch = root;
  while (branch.groups.length === 0 && branch.creators.length === 1 && chain.length < 3) {
    const next = branch.creators[0] as Branch;
    plain.push(...branch.plain);
    if (next.actor) chain.push(next.actor);
    branch = next;
  }
  return { chain, plain, rest: branch };
}

/** A job may declare any size; no browser draws a billion cells. */
const MOST_UNSEEN = 1024;

/** One row a node, in the order of the lowest rank on it. */
export function gridRows(
  members: readonly Actor[],
  worldSize: number | null,
  nodes: ReadonlyMap<string, Node>,
): GridRow[] {
  const rows = new Map<string | null, Cell[]>();
  const seen = new Set<number>();
  for (const actor of members) {
    if (actor.rank !== null) seen.add(actor.rank);
    push(rows, actor.node_id, { key: actor.actor_id, rank: actor.rank, actor });
  }
  const unseen: Cell[] = [];
  const missing = Math.min((worldSize ?? 0) - members.length, MOST_UNSEEN);
  for (let rank = 0; unseen.length < missing && rank < (worldSize ?? 0); rank++) {
    if (!seen.has(rank)) unseen.push({ key: `rank ${rank}`, rank, actor: null });
  }
  const out: GridRow[] = [...rows].map(([id, cells]) => {
    const node = id === null ? undefined : nodes.get(id);
    return { key: id ?? "none", label: id === null ? "" : nodeLabel(id, nodes), lost: node?.alive === false, cells };
  });
  if (unseen.length > 0) out.push({ key: "unseen", label: "", lost: false, cells: unseen });
  return out;
}

const shared = new WeakMap<ReadonlyMap<string, Node>, Map<string, number>>();

/** The node's ip; with the start of its id where several nodes share one machine. */
export function nodeLabel(id: string, nodes: ReadonlyMap<string, Node>): string {
  const node = nodes.get(id);
  if (!node) return id.slice(0, 8);
  let counts = shared.get(nodes);
  if (!counts) {
    counts = new Map();
    for (const other of nodes.values()) counts.set(other.ip, (counts.get(other.ip) ?? 0) + 1);
    shared.set(nodes, counts);
  }
  return (counts.get(node.ip) ?? 0) > 1 ? `${node.ip} ${id.slice(0, 4)}` : node.ip;
}

export interface RoleLine {
  role: string;
  method: string | null;
  tone: ShownState;
  since: number | null;
}

const WEIGHT: ShownState[] = ["paused", "failed", "running", "waiting", "pending", "unknown", "idle", "dead"];

/** What each role of a group does now; a role that none of the members plays now has no method. */
export function roleLines(group: Group, members: readonly Actor[]): RoleLine[] {
  const names = group.roles.length > 0 ? group.roles : [""];
  return names.map((role) => {
    const own = role === "" ? members : members.filter((m) => m.role === role);
    const busy = own.filter((m) => m.state === "running" || m.state === "waiting" || m.state === "paused");
    const method = mostCommon(busy.map((m) => m.task_name).filter((name) => name !== null));
    const shown = method === null ? busy : busy.filter((m) => m.task_name === method);
    const of = shown.length > 0 ? shown : own;
    const tone = WEIGHT.find((state) => of.some((m) => stateOf(m) === state)) ?? "idle";
    const times = of.filter((m) => stateOf(m) === tone).map((m) => m.since_ns);
    return { role, method, tone, since: oldest(times) };
  });
}

export function oldest(times: readonly (number | null)[]): number | null {
  const known = times.filter((t) => t !== null);
  return known.length > 0 ? known.reduce((a, b) => Math.min(a, b)) : null;
}

export function mostCommon(names: readonly string[]): string | null {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  let best: string | null = null;
  for (const [name, count] of counts) if (best === null || count > (counts.get(best) ?? 0)) best = name;
  return best;
}

export function countStates(actors: Iterable<Actor>): Map<ShownState, number> {
  const counts = new Map<ShownState, number>();
  for (const actor of actors) counts.set(stateOf(actor), (counts.get(stateOf(actor)) ?? 0) + 1);
  return counts;
}

/** Groups into columns of like height, in order. */
export function columnsOf(groups: readonly GroupNode[], heights: readonly number[], count: number): GroupNode[][] {
  const columns = Array.from({ length: Math.max(1, Math.min(count, groups.length)) }, () => ({
    sum: 0,
    list: [] as GroupNode[],
  }));
  groups.forEach((group, i) => {
    const lowest = columns.reduce((a, b) => (b.sum < a.sum ? b : a));
    lowest.list.push(group);
    lowest.sum += heights[i] ?? 1;
  });
  return columns.map((column) => column.list);
}
