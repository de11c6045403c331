// What lies under the pointer.
import { barOf, type Placed, type Scale, timeOf, xOf } from "./layout";
import { FAILED, type Frame, type LaneData, PENDING, type SliceColumns, taskIdAt } from "./marks";
import type { TaskRef } from "./state";

export interface SliceHit {
  kind: "slice";
  lane_id: string;
  task: TaskRef;
  name: number;
  state: number;
  submit_ns: number | null;
  start_ns: number | null;
  end_ns: number | null;
}

export interface BinHit {
  kind: "bin";
  lane_id: string;
  name: number;
  count: number;
  states: number;
  from_ns: number;
  to_ns: number;
}

export type Hit = SliceHit | BinHit;

/** How near the pointer must be to something thinner than itself. */
const NEAR = 3;

export function hitAt(
  placed: Placed,
  data: LaneData | undefined,
  frame: Frame,
  scale: Scale,
  x: number,
  y: number,
  now: number,
): Hit | null {
  if (placed.row.kind !== "lane" || !data) return null;
  if (data.slices) return sliceAt(placed, data, data.slices, scale, x, y, now);
  return binAt(placed, data, frame, scale, x);
}

function sliceAt(placed: Placed, data: LaneData, s: SliceColumns, scale: Scale, x: number, y: number, now: number) {
  let best = -1;
  let bestScore = Number.POSITIVE_INFINITY;
  for (let i = 0; i < s.length; i++) {
    const bar = barOf(placed, s.depth[i]);
    const off = Math.max(bar.top - y, y - (bar.top + bar.height), 0);
    if (off > (placed.depth > 1 ? 1 : placed.height)) continue;
    const [from, to] = spanOf(data, s, i, now);
    const [left, right] = [xOf(scale, from), xOf(scale, to)];
    const away = Math.max(left - x, x - right, 0);
    if (away > NEAR) continue;
    // The nearest; of those equally near what failed, then what runs, then the shortest.
    const state = s.state[i] as number;
    const waits = x < xOf(scale, data.base + (s.start[i] as number)) - NEAR ? 1e7 : 0;
    const score = away * 1e9 + waits + (state === FAILED ? 0 : 1e6) + Math.min(right - left, 1e5);
    if (score < bestScore) {
      bestScore = score;
      best = i;
    }
  }
  return best < 0 ? null : sliceHit(placed.row.key, data, s, best);
}

/** From when it was known to its end, or now. */
export function spanOf({ base }: LaneData, s: SliceColumns, i: number, now: number): [number, number] {
  const [submit, start, end] = [s.submit[i] as number, s.start[i] as number, s.end[i] as number];
  const known = [submit, start, end].find((t) => !Number.isNaN(t)) ?? 0;
  const last = Number.isNaN(end)
    ? ongoing(s.state[i] as number)
      ? now
      : base + (Number.isNaN(start) ? known : start)
    : base + end;
  return [base + known, Math.max(base + known, last)];
}

/** Pending, running or paused: it has no end yet. */
export const ongoing = (state: number): boolean => state !== FAILED && state !== 2;

export function sliceHit(lane_id: string, { base }: LaneData, s: SliceColumns, i: number): SliceHit {
  const time = (t: number | undefined) => (t === undefined || Number.isNaN(t) ? null : base + t);
  return {
    kind: "slice",
    lane_id,
    task: { task_id: taskIdAt(s, i), attempt: s.attempt[i] as number },
    name: s.name[i] as number,
    state: s.state[i] as number,
    submit_ns: time(s.submit[i]),
    start_ns: time(s.start[i]),
    end_ns: time(s.end[i]),
  };
}

function binAt(placed: Placed, data: LaneData, frame: Frame, scale: Scale, x: number): BinHit | null {
  const { bins } = data;
  if (!bins) return null;
  const long = (frame.to - frame.from) / frame.pixels;
  const near = (NEAR * scale.per) / long;
  const at = (timeOf(scale, x) - frame.from) / long - 0.5;
  let best = -1;
  let bestScore = Number.POSITIVE_INFINITY;
  for (let i = lowerBound(bins.index, at - near - 1); i < bins.length; i++) {
    const away = Math.abs((bins.index[i] as number) - at);
    if ((bins.index[i] as number) > at + near + 1) break;
    const special = (bins.states[i] as number) & (1 << FAILED) ? 0 : near + 1;
    const score = away + special;
    if (away <= near + 1 && score < bestScore) {
      bestScore = score;
      best = i;
    }
  }
  if (best < 0) return null;
  const index = bins.index[best] as number;
  return {
    kind: "bin",
    lane_id: placed.row.key,
    name: bins.name[best] as number,
    count: bins.count[best] as number,
    states: bins.states[best] as number,
    from_ns: frame.from + index * long,
    to_ns: frame.from + (index + 1) * long,
  };
}

function lowerBound(list: Uint32Array, value: number): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((list[middle] as number) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The slice before or after one on its lane, by start. */
export function beside(
  lane_id: string,
  data: LaneData,
  task: TaskRef | null,
  step: 1 | -1,
  at: number,
): SliceHit | null {
  const s = data.slices;
  if (!s || s.length === 0) return null;
  const order = Array.from({ length: s.length }, (_, i) => i).sort((a, b) => begin(s, a) - begin(s, b));
  const current = order.findIndex((i) => task && s.attempt[i] === task.attempt && taskIdAt(s, i) === task.task_id);
  let next = current + step;
  if (current < 0) {
    const after = order.findIndex((i) => data.base + begin(s, i) > at);
    next = step > 0 ? after : (after < 0 ? order.length : after) - 1;
  }
  const i = order[next];
  return i === undefined ? null : sliceHit(lane_id, data, s, i);
}

const begin = (s: SliceColumns, i: number): number => {
  const start = s.start[i] as number;
  return s.state[i] === PENDING || Number.isNaN(start) ? (s.submit[i] as number) : start;
};
