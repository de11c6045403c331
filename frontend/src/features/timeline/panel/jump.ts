// To the next or previous thing that needs somebody: a failed task, or a pause.
import { useCluster } from "../../../api/stores";
import type { Pause, Task } from "../../../api/types.gen";
import { reveal, select, useTimeline, windowOf } from "../state";
import { askTasks, markState } from "./ask";

const SLACK_NS = 1024;
/** Of the pauses that may be any of several tasks, so many are gone to. */
const MOST_UNSURE = 32;

/** When it is first known of, as the hub sorts them. */
function beginOf({ submit_ns, start_ns, end_ns }: Task): number {
  if (submit_ns !== null && start_ns !== null) return Math.min(submit_ns, start_ns);
  return submit_ns ?? start_ns ?? end_ns ?? 0;
}

export function show(task: Task, nowNs: number): void {
  const from = task.start_ns ?? task.submit_ns ?? task.end_ns;
  const place =
    task.lane_id === null || from === null
      ? null
      : { lane_id: task.lane_id, from_ns: from, to_ns: Math.max(from, task.end_ns ?? nowNs) };
  select({ task_id: task.task_id, attempt: task.attempt }, place);
  if (place) reveal(place);
}

/** How it went: found, come round to the other end, or nothing there. */
export type Jumped = "found" | "wrapped" | "none";

export async function jump(by: 1 | -1, nowNs: number): Promise<Jumped> {
  const { jobId, selected } = useTimeline.getState();
  if (jobId === null) return "none";
  const from = await startOfSelection(jobId, selected?.task_id, selected?.attempt);
  const states = ["failed", "paused"];
  // Numbers of a browser are exact to a quarter of a microsecond: what was begun at the same time comes along.
  const further = by > 0 ? { after_ns: from - SLACK_NS } : { before_ns: from + SLACK_NS };
  const inOrder = { job_id: jobId, states, oldest_first: by > 0 };
  const unsure = await unsurePaused(jobId);
  const known = (await askTasks({ ...inOrder, ...further, limit: 100 })).tasks;
  const also = unsure.filter((task) => by * (beginOf(task) - from) > -SLACK_NS);
  const near = sorted([...known, ...also], by);
  const at = near.findIndex((task) => task.task_id === selected?.task_id && task.attempt === selected.attempt);
  const next = near[at + 1];
  if (next) {
    show(next, nowNs);
    return "found";
  }
  const [first] = sorted([...(await askTasks({ ...inOrder, limit: 1 })).tasks, ...unsure], by);
  if (first) {
    const same = first.task_id === selected?.task_id && first.attempt === selected.attempt;
    show(first, nowNs);
    return same ? "none" : "wrapped";
  }
  return pausedLane(jobId) ? "found" : "none";
}

async function startOfSelection(job: string, taskId: string | undefined, attempt: number | undefined): Promise<number> {
  const { from, to } = windowOf(useTimeline.getState());
  const middle = Math.round((from + to) / 2);
  if (taskId === undefined) return middle;
  try {
    const { tasks } = await askTasks({ job_id: job, task_id: taskId });
    const own = tasks.find((task) => task.attempt === attempt) ?? tasks[0];
    return own ? beginOf(own) : middle;
  } catch {
    return middle;
  }
}

const sorted = (tasks: readonly Task[], by: 1 | -1): Task[] =>
  [...tasks].sort((a, b) => by * (beginOf(a) - beginOf(b)));

const openPauses = (job: string): Pause[] =>
  [...useCluster.getState().rows.pauses.values()].filter((one) => one.job_id === job && one.end_ns === null);

/** Of each pause that may be any of the tasks that run there, one: to the hub none of them is paused. */
async function unsurePaused(job: string): Promise<Task[]> {
  const ids = openPauses(job).flatMap((one) => (one.exact ? [] : one.candidates.slice(0, 1)));
  const found = await Promise.all(
    [...new Set(ids)].slice(0, MOST_UNSURE).map(async (task_id) => {
      try {
        const { tasks } = await askTasks({ job_id: job, task_id });
        return tasks.filter((task) => markState(task) === "running").slice(-1);
      } catch {
        return []; // let go meanwhile; where the stream is lost, what is asked next says so
      }
    }),
  );
  return found.flat();
}

/** A pause of which no task is known: its lane at least. */
function pausedLane(job: string): boolean {
  const [open] = openPauses(job);
  const lane = open?.lane_ids[0];
  if (!open || !lane) return false;
  reveal({ lane_id: lane, from_ns: open.start_ns, to_ns: open.start_ns + 1e9 });
  return true;
}
