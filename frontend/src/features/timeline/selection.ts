// From a mark to its task: exact where the mark is one, by a closer question where it is many.
import { connection } from "../../api/connection";
import type { Task } from "../../api/types.gen";
import { beside, type Hit, type SliceHit, sliceHit } from "./hit";
import { FAILED, type Held, type LaneData, merge, PAUSED } from "./marks";
import { nowNs, type Place, reveal, select, type TaskRef, useTimeline, windowOf } from "./state";

export const placeOf = (hit: SliceHit): Place => {
  const from = hit.start_ns ?? hit.submit_ns ?? hit.end_ns ?? nowNs();
  return { lane_id: hit.lane_id, from_ns: from, to_ns: Math.max(from, hit.end_ns ?? nowNs()) };
};

export function placeOfTask(task: Task): Place | null {
  const from = task.start_ns ?? task.submit_ns;
  if (task.lane_id === null || from === null) return null;
  return { lane_id: task.lane_id, from_ns: from, to_ns: Math.max(from, task.end_ns ?? nowNs()) };
}

export const choose = (hit: SliceHit): void => select(hit.task, placeOf(hit));

/** Selects what a mark stands for. */
export async function pickTask(hit: Hit): Promise<void> {
  if (hit.kind === "slice") return choose(hit);
  const { jobId } = useTimeline.getState();
  if (jobId === null) return;
  const data = await exactly(jobId, hit.lane_id, hit.from_ns, hit.to_ns);
  const s = data?.slices;
  if (!data || !s || s.length === 0) return;
  // Of several: one that failed or is paused, else the first of the name that is shown.
  const all = Array.from({ length: s.length }, (_, i) => i);
  const i =
    all.find((k) => s.state[k] === FAILED) ??
    all.find((k) => s.state[k] === PAUSED) ??
    all.find((k) => s.name[k] === hit.name) ??
    0;
  choose(sliceHit(hit.lane_id, data, s, i));
}

/** The slices of a short stretch of a lane; null where there are still too many, or no answer. */
export async function exactly(jobId: string, laneId: string, from: number, to: number): Promise<LaneData | null> {
  const frame = { jobId, from: Math.round(from), to: Math.max(Math.round(from) + 1000, Math.round(to)), pixels: 8192 };
  try {
    const { marks } = await connection.ask({
      type: "query_timeline",
      job_id: jobId,
      lanes: [laneId],
      from_ns: frame.from,
      to_ns: frame.to,
      pixels: frame.pixels,
      since: 0,
    });
    return marks ? (merge(null, frame, [laneId], marks).lanes.get(laneId) ?? null) : null;
  } catch {
    return null;
  }
}

/** The next or previous slice on the lane of the selection, or on the lane that the keyboard is on. */
export async function step(held: Held | null, by: 1 | -1): Promise<void> {
  const { jobId, selected, place, lane, span } = useTimeline.getState();
  const laneId = place?.lane_id ?? lane;
  if (jobId === null || laneId === null) return;
  const { from, to } = windowOf(useTimeline.getState());
  const at = place?.from_ns ?? (from + to) / 2;
  const data = held?.lanes.get(laneId);
  let hit = data?.slices ? beside(laneId, data, selected, by, at) : null;
  for (let reach = Math.max(span / 20, 1e8); hit === null && reach < span * 64; reach *= 8) {
    const exact = await exactly(jobId, laneId, at - reach, at + reach);
    if (exact && !exact.slices) break;
    if (exact) hit = beside(laneId, exact, selected, by, at);
  }
  if (!hit) return;
  choose(hit);
  reveal(placeOf(hit));
}

async function tasks(question: { task_id?: string; parent_task_id?: string; oldest_first?: boolean; limit?: number }) {
  const { jobId } = useTimeline.getState();
  if (jobId === null) return [];
  try {
    const reply = await connection.ask({ type: "query_tasks", job_id: jobId, ...question });
    return reply.tasks?.tasks ?? [];
  } catch {
    return [];
  }
}

export function show(task: Task | undefined): void {
  if (!task) return;
  const place = placeOfTask(task);
  select({ task_id: task.task_id, attempt: task.attempt }, place);
  if (place) reveal(place);
}

/** The attempt that is meant, with its facts. */
export async function lookUp(ref: TaskRef): Promise<Task | undefined> {
  const all = await tasks({ task_id: ref.task_id });
  return all.find((task) => task.attempt === ref.attempt) ?? all[0];
}

export async function toParent(): Promise<void> {
  const { selected } = useTimeline.getState();
  const own = selected && (await lookUp(selected));
  if (own?.parent_task_id) show((await tasks({ task_id: own.parent_task_id }))[0]);
}

export async function toChild(): Promise<void> {
  const { selected } = useTimeline.getState();
  if (selected) show((await tasks({ parent_task_id: selected.task_id, oldest_first: true, limit: 1 }))[0]);
}
