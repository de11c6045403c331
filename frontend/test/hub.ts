// The hub's end of the stream, for tests of what asks it: answers `query_tasks` by the rules of the hub's find.py.
import { vi } from "vitest";
import { connection, NoAnswer, type Question } from "../src/api/connection";
import { useLink } from "../src/api/stores";
import type { QueryTasks, Reply, Task } from "../src/api/types.gen";
import { NOW_NS } from "./rows";

type Asked = Omit<QueryTasks, "id">;

/** When it is first known of: its submission or its start, else its end. */
const begin = ({ submit_ns, start_ns, end_ns }: Task): number => {
  const times = [submit_ns, start_ns].filter((time) => time !== null);
  return times.length > 0 ? Math.min(...times) : (end_ns ?? 0);
};

const refusal = (code: string, message: string) => new NoAnswer({ code, message, hint: "" });

export class TestHub {
  asked: Asked[] = [];
  /** Attempts that stand still, as "id:attempt". */
  held = new Set<string>();
  /** Labels of lanes. */
  labels: Record<string, string> = {};
  /** Holds its answers back until `flush`. */
  slow = false;
  private readonly due: (() => void)[] = [];

  constructor(public tasks: Task[] = []) {
    useLink.setState({ phase: "live" });
    vi.spyOn(connection, "ask").mockImplementation((question) => this.answer(question));
  }

  /** Sends the answers to all that was asked so far: in that order, or the newest first. */
  flush(order: 1 | -1 = 1): void {
    const due = this.due.splice(0);
    for (const send of order > 0 ? due : due.reverse()) send();
  }

  private async answer(question: Question): Promise<Reply> {
    if (useLink.getState().phase !== "live") throw new NoAnswer(null);
    if (question.type !== "query_tasks") throw new Error(`not expected: ${question.type}`);
    this.asked.push(question);
    const { limit = 100, task_id: id } = question;
    const found = this.matching(question);
    if (this.slow) await new Promise<void>((resolve) => this.due.push(resolve));
    if (id != null && found.length === 0) throw refusal("unknown", `no task ${id} is held`);
    const tasks = {
      time_ns: NOW_NS,
      total: found.length,
      dropped: { ray: 0, agent: null, hub: 0 },
      truncated: 0,
      source: "pull" as const,
      age_ns: 0,
      note: null,
      tasks: found.slice(0, limit),
    };
    return { type: "reply", id: 0, error: null, grants: null, made: null, marks: null, tasks, debug: null };
  }

  private matching(q: Asked): Task[] {
    const ofJob = this.tasks.filter((task) => q.job_id === null || task.job_id === q.job_id);
    if (q.task_id != null)
      return ofJob.filter((task) => task.task_id === q.task_id).sort((a, b) => a.attempt - b.attempt);
    const found = ofJob
      .filter((task) => q.parent_task_id == null || task.parent_task_id === q.parent_task_id)
      .filter((task) => q.states == null || q.states.includes(this.state(task)))
      .filter((task) => q.after_ns == null || begin(task) > q.after_ns)
      .filter((task) => q.before_ns == null || begin(task) < q.before_ns)
      .filter((task) => !q.text || this.holds(task, q.text.toLowerCase()))
      .sort((a, b) => begin(a) - begin(b));
    return q.oldest_first ? found : found.reverse();
  }

  private holds(task: Task, text: string): boolean {
    const texts = [task.name, task.error_type, this.labels[task.lane_id ?? ""]];
    return (
      texts.some((one) => one?.toLowerCase().includes(text)) || (text.length >= 4 && task.task_id.startsWith(text))
    );
  }

  private state(task: Task): string {
    if (this.held.has(`${task.task_id}:${task.attempt}`)) return "paused";
    if (task.state.startsWith("RUNNING")) return "running";
    return task.state === "FAILED" ? "failed" : task.state === "FINISHED" ? "finished" : "pending";
  }
}
