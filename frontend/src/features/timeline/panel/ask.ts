// Questions about tasks, and where the answers stand.
import { useEffect, useRef, useState } from "react";
import { connection, NoAnswer } from "../../../api/connection";
import { useTable } from "../../../api/hooks";
import { useLink } from "../../../api/stores";
import type { ErrorBody, MarkState, QueryTasks, Task, Tasks } from "../../../api/types.gen";

export type Question = Partial<Omit<QueryTasks, "type" | "id">> & { job_id: string };

export async function askTasks(question: Question): Promise<Tasks> {
  const reply = await connection.ask({ type: "query_tasks", ...question });
  if (!reply.tasks) throw new NoAnswer(null);
  return reply.tasks;
}

export interface Asked {
  answer: Tasks | null;
  /** Why there is no answer; null while it is awaited, or when there is one. */
  error: ErrorBody | "lost" | null;
}

const NOTHING: Asked = { answer: null, error: null };

/**
 * The answer to a question, asked anew when `again` changes, and when the stream is back; an old answer to the same
 * question stays until then.
 */
export function useTasks(question: Question | null, again: unknown): Asked {
  const key = question === null ? "" : JSON.stringify(question);
  const [held, setHeld] = useState<Asked & { key: string }>({ key: "", ...NOTHING });
  const latest = useRef(0);
  const live = useLink((link) => link.phase === "live");
  // biome-ignore lint/correctness/useExhaustiveDependencies: the question is known by its key
  useEffect(() => {
    const number = ++latest.current;
    if (question === null) return;
    askTasks(question).then(
      (answer) => {
        if (number === latest.current) setHeld({ key, answer, error: null });
      },
      (error: unknown) => {
        if (number !== latest.current) return;
        const body = error instanceof NoAnswer ? error.body : null;
        setHeld((old) => ({ key, answer: old.key === key ? old.answer : null, error: body ?? "lost" }));
      },
    );
  }, [key, again, live]);
  return held.key === key ? held : NOTHING;
}

const LEAST_PERIOD_MS = 500;

/** Of the job's tasks: changes when they do, twice a second at most, for push may bring news 20 times. */
export function useVersion(jobId: string): number {
  const version = useTable("timeline_jobs").get(jobId)?.version ?? 0;
  const [held, setHeld] = useState(version);
  const last = useRef(Number.NEGATIVE_INFINITY);
  useEffect(() => {
    if (version === held) return;
    const take = () => {
      last.current = performance.now();
      setHeld(version);
    };
    const timer = window.setTimeout(take, Math.max(0, last.current + LEAST_PERIOD_MS - performance.now()));
    return () => window.clearTimeout(timer);
  }, [version, held]);
  return held;
}

export const hasEnded = (task: Task): boolean =>
  (task.state === "FINISHED" || task.state === "FAILED") && task.end_ns !== null;

/** As the marks have it. */
export function markState(task: Task): MarkState {
  if (task.state === "FAILED") return "failed";
  if (task.state === "FINISHED") return "finished";
  if (!task.state.startsWith("RUNNING")) return "pending";
  return task.end_ns === null ? "running" : "finished";
}
