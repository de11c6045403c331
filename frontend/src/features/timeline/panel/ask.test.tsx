import { act, renderHook } from "@testing-library/react";
import { beforeEach, describe, expect, it } from "vitest";
import { TestHub } from "../../../../test/hub";
import { task, taskId } from "../../../../test/rows";
import { useLink } from "../../../api/stores";
import { markState, type Question, useTasks } from "./ask";

let hub: TestHub;
beforeEach(() => {
  useLink.setState(useLink.getInitialState(), true);
  hub = new TestHub([task(1), task(2)]);
});

const of = (number: number): Question => ({ job_id: "01", task_id: taskId(number) });
const settle = () => act(async () => hub.flush());
const ask = (question: Question | null) =>
  renderHook(({ question, again }: { question: Question | null; again: unknown }) => useTasks(question, again), {
    initialProps: { question, again: 0 as unknown },
  });

describe("useTasks", () => {
  it("asks, and has the answer", async () => {
    const { result } = ask(of(1));
    expect(result.current).toMatchObject({ answer: null, error: null });
    await settle();
    expect(result.current.answer?.tasks).toEqual([task(1)]);
    expect(hub.asked).toEqual([{ type: "query_tasks", ...of(1) }]);
  });

  it("asks nothing for no question", async () => {
    const { result } = ask(null);
    await settle();
    expect(hub.asked).toEqual([]);
    expect(result.current).toMatchObject({ answer: null, error: null });
  });

  it("keeps the old answer while the same is asked again, and takes the new one", async () => {
    hub.slow = true;
    const { result, rerender } = ask(of(1));
    await settle();
    hub.tasks = [task(1, { name: "later" })];
    rerender({ question: of(1), again: 1 });
    expect(result.current.answer?.tasks[0]?.name).toBe("Rank.generate");
    await settle();
    expect(result.current.answer?.tasks[0]?.name).toBe("later");
    rerender({ question: { ...of(1) }, again: 1 }); // an equal question is the same
    await settle();
    expect(hub.asked).toHaveLength(2);
  });

  it("takes no older answer after a newer one", async () => {
    hub.slow = true;
    const { result, rerender } = ask(of(1));
    hub.tasks = [task(1, { name: "later" })];
    rerender({ question: of(1), again: 1 });
    await act(async () => hub.flush(-1));
    expect(result.current.answer?.tasks[0]?.name).toBe("later");
  });

  it("never shows the answer to another question", async () => {
    hub.slow = true;
    const { result, rerender } = ask(of(1));
    await settle();
    rerender({ question: of(2), again: 0 });
    expect(result.current).toMatchObject({ answer: null, error: null });
    rerender({ question: of(1), again: 0 });
    rerender({ question: of(2), again: 0 });
    await settle(); // the answers to three questions come, the last counts
    expect(result.current.answer?.tasks[0]?.task_id).toBe(taskId(2));
    rerender({ question: null, again: 0 });
    expect(result.current.answer).toBeNull();
  });

  it("says why there is none", async () => {
    const { result } = ask(of(7));
    await settle();
    expect(result.current).toMatchObject({ answer: null, error: { code: "unknown" } });
  });

  it("keeps what it had when the stream is lost, and asks again when it is back", async () => {
    const { result, rerender } = ask(of(1));
    await settle();
    act(() => useLink.setState({ phase: "lost" }));
    rerender({ question: of(1), again: 1 });
    await settle();
    expect(result.current.error).toBe("lost");
    expect(result.current.answer?.tasks).toEqual([task(1)]);
    rerender({ question: of(2), again: 1 });
    await settle();
    expect(result.current).toMatchObject({ answer: null, error: "lost" });
    act(() => useLink.setState({ phase: "live" }));
    await settle();
    expect(result.current.answer?.tasks).toEqual([task(2)]);
    expect(result.current.error).toBeNull();
  });
});

it.each([
  ["NIL", "pending"],
  ["PENDING_ARGS_AVAIL", "pending"],
  ["PENDING_NODE_ASSIGNMENT", "pending"],
  ["SUBMITTED_TO_WORKER", "pending"],
  ["GETTING_AND_PINNING_ARGS", "pending"],
  ["PENDING_ACTOR_TASK_ORDERING_OR_CONCURRENCY", "pending"],
  ["RUNNING", "running"],
  ["RUNNING_IN_RAY_GET", "running"],
  ["RUNNING_IN_RAY_WAIT", "running"],
  ["FINISHED", "finished"],
  ["FAILED", "failed"],
])("%s is marked as %s", (state, mark) => {
  expect(markState(task(1, { state, end_ns: null }))).toBe(mark);
});

it("is finished once its worker has reported the end, though its owner hasn't", () => {
  expect(markState(task(1, { state: "RUNNING" }))).toBe("finished");
});
