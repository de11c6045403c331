// The tables of the live stream, and how a patch changes them.
import type {
  Actor,
  DebugSession,
  Group,
  Job,
  Lane,
  Node,
  Patch,
  Pause,
  PausedSite,
  SourceState,
  Step,
  Tables,
  TimelineJob,
  Topic,
} from "./types.gen";

export interface Rows {
  readonly nodes: ReadonlyMap<string, Node>;
  readonly jobs: ReadonlyMap<string, Job>;
  readonly groups: ReadonlyMap<string, Group>;
  readonly actors: ReadonlyMap<string, Actor>;
  readonly sources: ReadonlyMap<string, SourceState>;
  readonly paused: ReadonlyMap<string, PausedSite>;
  readonly timeline_jobs: ReadonlyMap<string, TimelineJob>;
  readonly lanes: ReadonlyMap<string, Lane>;
  readonly steps: ReadonlyMap<string, Step>;
  readonly pauses: ReadonlyMap<string, Pause>;
  readonly sessions: ReadonlyMap<string, DebugSession>;
}

export type TableName = keyof Rows;

const KEYS: Record<TableName, string> = {
  nodes: "node_id",
  jobs: "job_id",
  groups: "group_id",
  actors: "actor_id",
  sources: "name",
  paused: "site_id",
  timeline_jobs: "job_id",
  lanes: "lane_id",
  steps: "step_id",
  pauses: "pause_id",
  sessions: "worker_id",
};

const TABLES_OF: Record<Topic, readonly TableName[]> = {
  topology: ["nodes", "jobs", "groups", "actors", "sources"],
  paused: ["paused"],
  timeline: ["timeline_jobs", "lanes", "steps", "pauses"],
  debug: ["sessions"],
};

export function emptyRows(): Rows {
  return {
    nodes: new Map(),
    jobs: new Map(),
    groups: new Map(),
    actors: new Map(),
    sources: new Map(),
    paused: new Map(),
    timeline_jobs: new Map(),
    lanes: new Map(),
    steps: new Map(),
    pauses: new Map(),
    sessions: new Map(),
  };
}

/** Deep equality of decoded messages (plain objects, arrays, scalars). */
export function same(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const left = a as Record<string, unknown>;
  const right = b as Record<string, unknown>;
  const keys = Object.keys(left);
  if (keys.length !== Object.keys(right).length) return false;
  return keys.every((key) => same(left[key], right[key]));
}

type AnyRow = Record<string, unknown>;
type AnyTable = ReadonlyMap<string, AnyRow>;

function patchTable(table: AnyTable, key: string, set: readonly AnyRow[], drop: readonly string[], full: boolean) {
  const next = new Map<string, AnyRow>(full ? [] : table);
  let changed = full && table.size !== set.length;
  for (const row of set) {
    const id = String(row[key]);
    const old = table.get(id);
    const kept = old !== undefined && same(old, row);
    changed ||= !kept;
    next.set(id, kept ? old : row);
  }
  for (const id of drop) changed = next.delete(id) || changed;
  return changed ? next : table;
}

/** Rows and tables that didn't change keep their identity, so that only what changed renders again. */
export function applyPatch(rows: Rows, patch: Patch): Rows {
  const changed: Partial<Record<TableName, AnyTable>> = {};
  for (const name of TABLES_OF[patch.topic] ?? []) {
    const delta = (patch.tables as Tables)[name];
    if (!delta && !patch.full) continue;
    const before = rows[name] as unknown as AnyTable;
    const set = (delta?.set ?? []) as unknown as AnyRow[];
    const after = patchTable(before, KEYS[name], set, delta?.drop ?? [], patch.full);
    if (after !== before) changed[name] = after;
  }
  return Object.keys(changed).length === 0 ? rows : ({ ...rows, ...changed } as unknown as Rows);
}
