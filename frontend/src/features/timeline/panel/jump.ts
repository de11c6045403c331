// To the next or previous thing that needs somebody: a failed task, or a pause.
import { useCluster } from "../../../api/stores";
import type { Task } from "../../../api/types.gen";
import { reveal, select, useTimeline, windowOf } from "../state";
import { askTasks } from "./ask";

const SLACK_NS = 1024;

const startOf = (task: Task): number => task.submit_ns ?? task.start_ns ?? task.end_ns ?? 0;

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
  const near = (await askTasks({ job_id: jobId, states, ...further, oldest_first: by > 0, limit: 100 })).tasks;
  const at = near.findIndex((task) => task.task_id === selected?.task_id && task.attempt === selected.attempt);
  const next = near[at + 1];
  if (next) {
    show(next, nowNs);
    return "found";
  }
  const [first] = (await askTasks({ job_id: jobId, states, oldest_first: by > 0, limit: 1 })).tasks;
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
    return own ? startOf(own) : middle;
  } catch {
    return middle;
  }
}

/** A pause of which no task is known: its lane at least. */
function pausedLane(job: string): boolean {
  const open = [...useCluster.getState().rows.pauses.values()].find((one) => one.job_id === job && one.end_ns === null);
  const lane = open?.lane_ids[0];
  if (!open || !lane) return false;
  reveal({ lane_id: lane, from_ns: open.start_ns, to_ns: open.start_ns + 1e9 });
  return true;
}
