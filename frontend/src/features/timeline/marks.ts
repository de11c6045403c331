// The marks that the page holds: answers of the hub, decoded into typed columns and kept by lane.
import type { Bins, MarkState, Marks, Slices } from "../../api/types.gen";

/** As in api/timeline.py: a mark's state is an index into these, or a bit of them. */
export const MARK_STATES: readonly MarkState[] = ["pending", "running", "finished", "failed", "paused"];
export const PENDING = 0;
export const RUNNING = 1;
export const FINISHED = 2;
export const FAILED = 3;
export const PAUSED = 4;

/** Times: ns after the lane's `base`, NaN: unknown or not yet. `name`: index into `names.list`. */
export interface SliceColumns {
  readonly length: number;
  readonly submit: Float64Array;
  readonly start: Float64Array;
  readonly end: Float64Array;
  readonly name: Uint32Array;
  readonly state: Uint8Array;
  readonly depth: Uint16Array;
  readonly attempt: Uint16Array;
  readonly taskId: Uint8Array;
}

export interface BinColumns {
  readonly length: number;
  readonly index: Uint32Array;
  readonly count: Uint32Array;
  readonly name: Uint32Array;
  readonly busy: Uint8Array;
  readonly states: Uint8Array;
}

export interface LaneData {
  /** Of the marks: nothing on this lane has changed up to it. */
  readonly version: number;
  readonly base: number;
  readonly tasks: number;
  readonly depth: number;
  readonly slices: SliceColumns | null;
  readonly bins: BinColumns | null;
}

/** What was asked for: lanes apart, answers are only merged where all of this is the same. */
export interface Frame {
  readonly jobId: string;
  readonly from: number;
  readonly to: number;
  readonly pixels: number;
}

export interface Held extends Frame {
  readonly lanes: ReadonlyMap<string, LaneData>;
}

/** Names of methods, one number each for as long as the page lives. */
class Names {
  readonly list: string[] = [];
  private readonly ids = new Map<string, number>();

  id(name: string): number {
    let id = this.ids.get(name);
    if (id === undefined) {
      id = this.list.length;
      this.list.push(name);
      this.ids.set(name, id);
    }
    return id;
  }
}
export const names = new Names();

// A column is a view into the message, at any offset: typed arrays need their own, aligned one.
const copy = (bytes: Uint8Array): ArrayBuffer => bytes.slice().buffer as ArrayBuffer;

function decodeSlices(s: Slices, ids: Uint32Array): SliceColumns {
  return {
    length: s.state.length,
    submit: new Float64Array(copy(s.submit)),
    start: new Float64Array(copy(s.start)),
    end: new Float64Array(copy(s.end)),
    name: renamed(s.name, ids),
    state: s.state.slice(),
    depth: new Uint16Array(copy(s.depth)),
    attempt: new Uint16Array(copy(s.attempt)),
    taskId: s.task_id.slice(),
  };
}

function decodeBins(b: Bins, ids: Uint32Array): BinColumns {
  return {
    length: b.busy.length,
    index: new Uint32Array(copy(b.index)),
    count: new Uint32Array(copy(b.count)),
    name: renamed(b.name, ids),
    busy: b.busy.slice(),
    states: b.states.slice(),
  };
}

function renamed(column: Uint8Array, ids: Uint32Array): Uint32Array {
  const out = new Uint32Array(copy(column));
  for (let i = 0; i < out.length; i++) out[i] = ids[out[i] as number] ?? 0;
  return out;
}

const partOfSlices = (s: SliceColumns, begin: number, end: number): SliceColumns => ({
  length: end - begin,
  submit: s.submit.subarray(begin, end),
  start: s.start.subarray(begin, end),
  end: s.end.subarray(begin, end),
  name: s.name.subarray(begin, end),
  state: s.state.subarray(begin, end),
  depth: s.depth.subarray(begin, end),
  attempt: s.attempt.subarray(begin, end),
  taskId: s.taskId.subarray(24 * begin, 24 * end),
});

const partOfBins = (b: BinColumns, begin: number, end: number): BinColumns => ({
  length: end - begin,
  index: b.index.subarray(begin, end),
  count: b.count.subarray(begin, end),
  name: b.name.subarray(begin, end),
  busy: b.busy.subarray(begin, end),
  states: b.states.subarray(begin, end),
});

export const sameFrame = (a: Frame, b: Frame): boolean =>
  a.jobId === b.jobId && a.from === b.from && a.to === b.to && a.pixels === b.pixels;

const EMPTY: Omit<LaneData, "version" | "base"> = { tasks: 0, depth: 1, slices: null, bins: null };

/**
 * An answer to a question for `asked` lanes of `frame`, merged into what is held. Lanes that the answer leaves out are
 * unchanged (asked with `since`) or have no marks.
 */
export function merge(held: Held | null, frame: Frame, asked: readonly string[], marks: Marks): Held {
  const before = held && sameFrame(held, frame) ? held.lanes : new Map<string, LaneData>();
  const lanes = new Map(before);
  const ids = Uint32Array.from(marks.names, (name) => names.id(name));
  const slices = decodeSlices(marks.slices, ids);
  const bins = decodeBins(marks.bins, ids);
  const { version, base_ns: base } = marks;
  for (const id of asked) lanes.set(id, { ...(before.get(id) ?? { ...EMPTY, base }), version });
  for (const { lane_id, mode, begin, end, tasks, depth } of marks.lanes) {
    lanes.set(lane_id, {
      version,
      base,
      tasks,
      depth: Math.max(1, depth),
      slices: mode === "slices" ? partOfSlices(slices, begin, end) : null,
      bins: mode === "bins" ? partOfBins(bins, begin, end) : null,
    });
  }
  return { ...frame, lanes };
}

/** Of lanes to be asked again: the version from which on changes are needed; 0 where one isn't held yet. */
export function sinceOf(held: Held | null, frame: Frame, asked: readonly string[]): number {
  if (!held || !sameFrame(held, frame)) return 0;
  return asked.reduce((least, id) => Math.min(least, held.lanes.get(id)?.version ?? 0), Number.MAX_SAFE_INTEGER);
}

const HEX = Array.from({ length: 256 }, (_, i) => i.toString(16).padStart(2, "0"));

export function taskIdAt(slices: SliceColumns, i: number): string {
  let out = "";
  for (let k = 24 * i; k < 24 * i + 24; k++) out += HEX[slices.taskId[k] as number];
  return out;
}
