// Rows and marks of the timeline for tests: the least that is valid, changed by what a test is about.
import type { Lane, LaneMarks, Marks, Pause, Step, Task, TimelineJob } from "../src/api/types.gen";
import { NOW_NS } from "./rows";

export const timelineJob = (over: Partial<TimelineJob> = {}): TimelineJob => ({
  job_id: "01",
  version: 1,
  total: 10,
  running: 1,
  pending: 0,
  failed: 0,
  first_ns: NOW_NS - 100e9,
  last_ns: NOW_NS,
  source: "push",
  fresh_ns: NOW_NS,
  period_ns: null,
  dropped: { ray: 0, agent: 0, hub: 0 },
  truncated: 0,
  note: null,
  steps: null,
  clipped_lanes: 0,
  ...over,
});

export const lane = (id: string, over: Partial<Lane> = {}): Lane => ({
  lane_id: id,
  job_id: "01",
  kind: "rank",
  label: id,
  parent_lane_id: null,
  order: 0,
  tasks: 1,
  failed: 0,
  group_id: null,
  role: null,
  rank: null,
  actor_id: null,
  worker_id: null,
  node_id: null,
  ...over,
});

/** A group lane with ranks below it. */
export const groupOf = (id: string, ranks: number, over: (rank: number) => Partial<Lane> = () => ({})): Lane[] => [
  lane(id, { kind: "group", group_id: id }),
  ...Array.from({ length: ranks }, (_, rank) =>
    lane(`${id}-${rank}`, {
      parent_lane_id: id,
      group_id: id,
      rank,
      order: rank,
      label: `rank ${rank}`,
      ...over(rank),
    }),
  ),
];

export const byId = (lanes: readonly Lane[]): Map<string, Lane> => new Map(lanes.map((one) => [one.lane_id, one]));

export const timelineStep = (number: number, over: Partial<Step> = {}): Step => ({
  step_id: `01/x/${number}`,
  job_id: "01",
  number,
  start_ns: NOW_NS,
  end_ns: null,
  inferred: false,
  ...over,
});

export const pause = (lanes: string[], over: Partial<Pause> = {}): Pause => ({
  pause_id: lanes.join(),
  job_id: "01",
  worker_id: "w",
  lane_ids: lanes,
  site_id: "s",
  file: "/srv/runner.py",
  line: 88,
  start_ns: NOW_NS - 10e9,
  end_ns: null,
  exact: true,
  candidates: [],
  ...over,
});

export const task = (id: string, over: Partial<Task> = {}): Task => ({
  task_id: id,
  attempt: 0,
  name: "step",
  type: "ACTOR_TASK",
  job_id: "01",
  actor_id: null,
  worker_id: null,
  node_id: null,
  rank: null,
  parent_task_id: null,
  state: "FINISHED",
  submit_ns: null,
  start_ns: NOW_NS - 20e9,
  end_ns: NOW_NS - 10e9,
  error_type: null,
  error_message: null,
  role: null,
  group_id: null,
  pid: null,
  lane_id: null,
  children: 0,
  ...over,
});

/** Times are ms after NOW_NS. */
export interface SliceIn {
  lane: string;
  name?: string;
  state?: number;
  submit?: number;
  start?: number;
  end?: number;
  depth?: number;
  id?: number;
}
export interface BinIn {
  lane: string;
  index: number;
  name?: string;
  count?: number;
  busy?: number;
  states?: number;
}

export const taskId = (n: number): string => n.toString(16).padStart(48, "0");

/** An answer as it comes off the wire: its columns lie anywhere in the message, at odd offsets too. */
export function marks(slices: readonly SliceIn[], bins: readonly BinIn[] = [], over: Partial<Marks> = {}): Marks {
  const names: string[] = [];
  const nameOf = (name = "step") => {
    if (!names.includes(name)) names.push(name);
    return names.indexOf(name);
  };
  const lanes: LaneMarks[] = [];
  const count = (mode: LaneMarks["mode"], list: readonly { lane: string; depth?: number }[]) => {
    list.forEach((one, i) => {
      const last = lanes.at(-1);
      const depth = (one.depth ?? 0) + 1;
      if (last?.lane_id === one.lane && last.mode === mode)
        lanes[lanes.length - 1] = { ...last, end: i + 1, tasks: last.tasks + 1, depth: Math.max(last.depth, depth) };
      else lanes.push({ lane_id: one.lane, mode, begin: i, end: i + 1, tasks: 1, depth });
    });
  };
  count("slices", slices);
  count("bins", bins);
  const odd = (array: Float64Array | Uint32Array | Uint16Array | Uint8Array) => {
    const room = new Uint8Array(array.byteLength + 3);
    room.set(new Uint8Array(array.buffer), 3);
    return room.subarray(3);
  };
  const time = (pick: (s: SliceIn) => number | undefined) =>
    odd(Float64Array.from(slices, (s) => (pick(s) ?? Number.NaN) * 1e6));
  const ids = new Uint8Array(24 * slices.length);
  for (const [i, { id = i }] of slices.entries()) ids[24 * i + 23] = id;
  return {
    job_id: "01",
    version: 1,
    base_ns: NOW_NS,
    from_ns: NOW_NS,
    to_ns: NOW_NS + 1e9,
    pixels: 100,
    lanes,
    slices: {
      submit: time((s) => s.submit),
      start: time((s) => s.start),
      end: time((s) => s.end),
      name: odd(Uint32Array.from(slices, (s) => nameOf(s.name))),
      state: odd(Uint8Array.from(slices, (s) => s.state ?? 2)),
      depth: odd(Uint16Array.from(slices, (s) => s.depth ?? 0)),
      attempt: odd(Uint16Array.from(slices, () => 0)),
      task_id: odd(ids),
    },
    bins: {
      index: odd(Uint32Array.from(bins, (b) => b.index)),
      count: odd(Uint32Array.from(bins, (b) => b.count ?? 1)),
      name: odd(Uint32Array.from(bins, (b) => nameOf(b.name))),
      busy: odd(Uint8Array.from(bins, (b) => b.busy ?? 255)),
      states: odd(Uint8Array.from(bins, (b) => b.states ?? 4)),
    },
    ...over,
    names,
  };
}
