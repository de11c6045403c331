import { act, fireEvent, screen, within } from "@testing-library/react";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { TestHub } from "../../../../test/hub";
import { lane, NOW_NS, node, patch, pause, task, taskId, timelineJob } from "../../../../test/rows";
import { showAlone } from "../../../../test/show";
import { learnClock, resetClock, tick } from "../../../api/clock";
import { takePatch, useCluster, useLink } from "../../../api/stores";
import type { Pause, Task, Welcome } from "../../../api/types.gen";
import { initialState, useTimeline } from "../state";
import { clockTime } from "../times";
import { Details } from "./Details";

let version = 1;
let hub: TestHub;

const panel = () => screen.getByTestId("task-details");
const text = () => panel().textContent ?? "";
const fact = (name: string) => within(panel()).getByText(name, { selector: "dt" }).nextElementSibling as HTMLElement;
const facts = () => [...panel().querySelectorAll("dt")].map((one) => one.textContent);
const button = (name: string | RegExp) => within(panel()).getByRole("button", { name });
const select = (number: number, attempt = 0) =>
  act(async () => useTimeline.setState({ selected: { task_id: taskId(number), attempt } }));
const selected = () => {
  const { selected: own } = useTimeline.getState();
  return own && `${Number.parseInt(own.task_id, 16)}:${own.attempt}`;
};
/** The job's tasks changed: what the hub pushes, then what the page asks for. */
async function change(...tasks: Task[]): Promise<void> {
  const ids = new Set(tasks.map((one) => `${one.task_id}:${one.attempt}`));
  hub.tasks = [...hub.tasks.filter((one) => !ids.has(`${one.task_id}:${one.attempt}`)), ...tasks];
  const set = [timelineJob({ version: ++version })];
  act(() => takePatch(patch("timeline", false, { timeline_jobs: { set, drop: [] } })));
  await act(() => vi.advanceTimersByTimeAsync(1000));
}
const pauses = (...set: Pause[]) => act(() => takePatch(patch("timeline", false, { pauses: { set, drop: [] } })));
const role = (role: Welcome["role"]) => act(() => useLink.setState({ welcome: { ...({} as Welcome), role } }));

async function show(...tasks: Task[]): Promise<void> {
  hub.tasks = tasks;
  await showAlone(<Details />);
  if (tasks[0]) await select(Number.parseInt(tasks[0].task_id, 16), tasks[0].attempt);
}

beforeEach(() => {
  vi.useFakeTimers();
  useCluster.setState(useCluster.getInitialState(), true);
  useLink.setState(useLink.getInitialState(), true);
  useTimeline.setState({ ...initialState(), jobId: "01" }, true);
  const lanes = [
    lane("group:g", { kind: "group", label: "actor_rollout" }),
    lane("rank:a0", { label: "rank 0", parent_lane_id: "group:g" }),
    lane("rank:a1", { label: "rank 1", parent_lane_id: "group:g" }),
  ];
  const timeline_jobs = { set: [timelineJob({ version })], drop: [] };
  takePatch(patch("timeline", true, { timeline_jobs, lanes: { set: lanes, drop: [] } }));
  takePatch(
    patch("topology", true, { nodes: { set: [node("n1", { hostname: "gpu-11", ip: "10.42.3.11" })], drop: [] } }),
  );
  hub = new TestHub();
});

describe("details of a task", () => {
  it("aren't there without a selection, and go with it", async () => {
    await show();
    expect(screen.queryByTestId("task-details")).toBeNull();
    hub.tasks = [task(1)];
    await select(1);
    fireEvent.click(button("Close"));
    expect(selected()).toBeNull();
    expect(screen.queryByTestId("task-details")).toBeNull();
  });

  it("say what ran, where, when, how long, and how long it waited", async () => {
    await show(task(1));
    expect(text()).toContain("Rank.generate");
    expect(text()).toContain("actor_rollout › rank 0");
    expect(text()).toContain("finished");
    expect(fact("Ran").textContent).toBe(`1.00 s ${clockTime(NOW_NS, 1e9)} → ${clockTime(NOW_NS + 1e9, 1e9)}`);
    expect(fact("Before it ran").textContent).toContain("100 ms pending");
    expect(fact("Where").textContent).toBe("gpu-11 (10.42.3.11) · pid 100");
    expect(fact("Task").textContent).toBe(taskId(1));
    expect(fact("Attempt").textContent).toBe("1Ray: FINISHED");
    expect(facts()).not.toContain("Error");
    expect(facts()).not.toContain("Paused");
  });

  it("name what isn't known", async () => {
    const nothing = {
      name: null,
      submit_ns: null,
      start_ns: null,
      end_ns: null,
      node_id: null,
      pid: null,
      worker_id: null,
    };
    await show(task(1, { ...nothing, state: "NIL" }));
    expect(text()).toContain("no name");
    expect(text()).toContain("pending");
    expect(fact("Ran").textContent).toBe("not yet");
    expect(fact("Before it ran").textContent).toBe("unknown");
    expect(fact("Where").textContent).toBe("no worker yet");
  });

  it("don't guess the start of one whose worker took it along", async () => {
    await show(task(1, { start_ns: null, state: "FAILED" }));
    expect(fact("Ran").textContent).toMatch(/^ended .*; its start is unknown/);
    expect(fact("Before it ran").textContent).toMatch(/^submitted /);
  });

  it("tick while it runs", async () => {
    await show(task(1, { end_ns: null, state: "RUNNING" }));
    resetClock();
    act(() => {
      learnClock(NOW_NS + 42e9);
      tick();
    });
    expect(fact("Ran").textContent).toMatch(/^42\.0 s .*still runs$/);
  });

  it("stay the same job's: a task of the same id elsewhere isn't asked for", async () => {
    await show(task(1));
    expect(hub.asked.every((one) => one.job_id === "01")).toBe(true);
  });

  it("show what user code wrote as text", async () => {
    const hostile = "<img src=x onerror=alert(1)>";
    await show(task(1, { name: hostile, state: "FAILED", error_type: hostile, error_message: hostile }));
    expect(text().split(hostile)).toHaveLength(4);
    expect(panel().querySelector("img")).toBeNull();
  });

  it("copy the link of what is shown", async () => {
    const copied: string[] = [];
    vi.stubGlobal("navigator", { clipboard: { writeText: async (one: string) => void copied.push(one) } });
    await show(task(1));
    await act(async () => button("Copy link").click());
    expect(copied).toEqual([window.location.href]);
    expect(button("Copied")).toBeTruthy();
    await act(() => vi.advanceTimersByTimeAsync(3000));
    expect(button("Copy link")).toBeTruthy();
    vi.unstubAllGlobals();
  });
});

describe("without an answer", () => {
  it("it says that it waits", async () => {
    hub.slow = true;
    await show(task(1));
    expect(text()).toContain("Asking for the task…");
    await act(async () => hub.flush());
    expect(text()).toContain("Rank.generate");
  });

  it("it says that the task isn't held, and finds it when it comes", async () => {
    await show();
    await select(1);
    expect(text()).toContain("This task isn't held");
    await change(task(1));
    expect(text()).toContain("Rank.generate");
  });

  it("it says that the stream is lost, and asks when it is back", async () => {
    await show(task(1));
    act(() => useLink.setState({ phase: "lost" }));
    hub.tasks.push(task(2, { name: "Rank.update" }));
    await select(2);
    expect(text()).toContain("The stream is lost");
    await act(async () => useLink.setState({ phase: "live" }));
    expect(text()).toContain("Rank.update");
  });
});

describe("attempts", () => {
  const first = task(1, { state: "FAILED", error_type: "WORKER_DIED" });
  const second = task(1, { attempt: 1, submit_ns: NOW_NS + 2e9, start_ns: NOW_NS + 3e9, end_ns: NOW_NS + 5e9 });

  it("are linked with each other", async () => {
    await show(first, second);
    expect(button("1").getAttribute("aria-current")).toBe("true");
    expect(button("2").getAttribute("aria-current")).toBeNull();
    expect(button("1").title).toBe("failed");
    await act(async () => button("2").click());
    expect(selected()).toBe("1:1");
    expect(fact("Ran").textContent).toMatch(/^2\.00 s/);
  });

  it("of a failed one appear when it is tried again", async () => {
    await show(first);
    expect(within(panel()).queryByRole("button", { name: "2" })).toBeNull();
    await change(second);
    expect(button("2")).toBeTruthy();
  });

  it("that aren't held are not told by another's facts without a word", async () => {
    await show(first);
    await select(1, 4);
    expect(text()).toContain("Attempt 5 isn't held");
    expect(button("1").getAttribute("aria-current")).toBe("true");
  });
});

describe("asking again", () => {
  it("learns what the worker of a finished task says a moment later", async () => {
    const pending = task(1, { state: "PENDING_NODE_ASSIGNMENT", start_ns: null, end_ns: null });
    await show(pending);
    expect(text()).toContain("pending");
    await change({ ...pending, state: "RUNNING", start_ns: NOW_NS });
    expect(text()).toContain("running");
    await change({ ...pending, state: "FINISHED", end_ns: NOW_NS + 3e9 });
    expect(fact("Ran").textContent).toMatch(/its start is unknown/);
    await change({ ...pending, state: "FINISHED", start_ns: NOW_NS, end_ns: NOW_NS + 3e9 });
    expect(fact("Ran").textContent).toMatch(/^3\.00 s/);
  });

  it("leaves the hub alone some time after the end", async () => {
    await show(task(1, { start_ns: NOW_NS - 61e9, end_ns: NOW_NS - 60e9 }));
    await change(task(2));
    const { length } = hub.asked;
    for (let i = 3; i < 6; i++) await change(task(i));
    expect(hub.asked).toHaveLength(length);
  });

  it("doesn't ask with each of many changes", async () => {
    await show(task(1, { state: "RUNNING", end_ns: null }));
    const { length } = hub.asked;
    for (let i = 0; i < 40; i++) {
      const set = [timelineJob({ version: ++version })];
      act(() => takePatch(patch("timeline", false, { timeline_jobs: { set, drop: [] } })));
      await act(() => vi.advanceTimersByTimeAsync(50));
    }
    expect(hub.asked.length - length).toBeGreaterThanOrEqual(2);
    expect(hub.asked.length - length).toBeLessThanOrEqual(5);
  });
});

describe("the error", () => {
  const failed = task(1, { state: "FAILED", error_type: "TASK_EXECUTION_EXCEPTION" });

  it("has its message for who may read it", async () => {
    role("viewer");
    await show({ ...failed, error_message: "Traceback\n  ValueError: <b>x</b>" });
    expect(fact("Error").textContent).toBe("TASK_EXECUTION_EXCEPTIONTraceback\n  ValueError: <b>x</b>");
    expect(text()).not.toContain("signed in");
  });

  it("says what it takes to read it", async () => {
    role("anonymous");
    await show(failed);
    expect(fact("Error").textContent).toContain("The message is for who has signed in");
    role("viewer"); // there is none then
    expect(fact("Error").textContent).toBe("TASK_EXECUTION_EXCEPTION");
  });
});

describe("a pause", () => {
  const running = task(1, { state: "RUNNING", end_ns: null });

  it("of this task makes it paused, with the place and the way to it", async () => {
    await show(running);
    expect(facts()).not.toContain("Paused");
    pauses(pause("p", { candidates: [taskId(1)] }));
    expect(panel().dataset.tone).toBe("paused");
    const link = within(fact("Paused")).getByRole("link", { name: "actor_worker.py:212" });
    expect(link.getAttribute("href")).toContain("/overview?job=01&site=s1");
    pauses(pause("p", { candidates: [taskId(1)], end_ns: NOW_NS + 9e9 }));
    expect(panel().dataset.tone).toBe("running");
  });

  it("that may be another's says so", async () => {
    await show(running);
    pauses(pause("p", { exact: false, file: null, line: null, candidates: [taskId(1), taskId(2)] }));
    expect(panel().dataset.tone).toBe("running");
    expect(fact("Paused").textContent).toContain("place unknown");
    expect(fact("Paused").textContent).toContain("this task or another of the 2 that run there");
  });

  it("of another worker or task isn't its own", async () => {
    await show(running);
    pauses(pause("p", { candidates: [taskId(2)] }), pause("q", { worker_id: "w-b", candidates: [taskId(1)] }));
    expect(facts()).not.toContain("Paused");
  });
});

describe("the same call on all ranks", () => {
  const onRank = (rank: number, s: number | null, over: Partial<Task> = {}) =>
    task(10 + rank, {
      actor_id: `a${rank}`,
      rank,
      group_id: "g",
      parent_task_id: taskId(999),
      submit_ns: NOW_NS + rank * 1e6,
      end_ns: s === null ? null : NOW_NS + s * 1e9,
      state: s === null ? "RUNNING" : "FINISHED",
      ...over,
    });
  const heading = () => within(panel()).queryByRole("heading", { name: /^Same call/ })?.textContent;

  it("tells how it ranks, with a dot for each that one can go to", async () => {
    await show(onRank(0, 4), onRank(1, 1), onRank(2, 2), onRank(3, 5));
    expect(heading()).toBe("Same call on 4 ranks: slower than 2 of 3");
    expect(text()).toContain("median 3.00 s");
    expect(button("rank 0 · 4.00 s").dataset.own).toBe("true");
    expect(button("rank 3 · 5.00 s").dataset.own).toBeUndefined();
    await act(async () => button("rank 3 · 5.00 s").click());
    expect(selected()).toBe("13:0");
    expect(heading()).toBe("Same call on 4 ranks: slower than 3 of 3");
    await act(async () => button("rank 1 · 1.00 s").click());
    expect(heading()).toBe("Same call on 4 ranks: the fastest");
  });

  it("tells of those that still run, and counts them when they end", async () => {
    await show(onRank(0, 4), onRank(1, 1), onRank(2, null), onRank(3, null));
    expect(heading()).toBe("Same call on 2 ranks: slower than 1 of 1; 2 more have not ended");
    await change(onRank(2, 9));
    expect(heading()).toBe("Same call on 3 ranks: slower than 1 of 2; 1 more has not ended");
    await change(onRank(3, 2));
    expect(heading()).toBe("Same call on 4 ranks: slower than 2 of 3");
  });

  it("says nothing where too many calls lie around it to know which belong together", async () => {
    const many = Array.from({ length: 1001 }, (_, i) =>
      task(2000 + i, { ...onRank(1, 1), task_id: taskId(2000 + i), submit_ns: NOW_NS + 1e9 + i }),
    );
    await show(onRank(0, 4), onRank(1, 1), ...many);
    expect(heading()).toBeUndefined();
  });

  it("isn't asked for where there are no ranks", async () => {
    await show(task(1));
    expect(heading()).toBeUndefined();
    expect(hub.asked.filter((one) => one.text !== undefined)).toEqual([]);
  });
});

describe("parent and children", () => {
  const mother = task(50, { name: "TaskRunner.fit", children: 3, lane_id: "rank:a1" });
  const child = (number: number, over: Partial<Task> = {}) =>
    task(number, {
      name: `Rank.call${number}`,
      parent_task_id: taskId(50),
      submit_ns: NOW_NS + number * 1e6,
      start_ns: NOW_NS + number * 1e6,
      ...over,
    });
  /** Arrow, name and lane. */
  const relatives = () =>
    [...panel().querySelectorAll("ul button")].map(({ children: cells }) =>
      [...cells]
        .slice(0, 3)
        .map((cell) => cell.textContent)
        .join(" "),
    );

  it("of a task: who submitted it", async () => {
    await show(child(1), mother);
    expect(relatives()).toEqual(["↑ TaskRunner.fit actor_rollout › rank 1"]);
    await act(async () => button(/TaskRunner\.fit/).click());
    expect(selected()).toBe("50:0");
    expect(useTimeline.getState().wanted?.lane_id).toBe("rank:a1");
  });

  it("its children, those that failed first and in their colour", async () => {
    await show(mother, child(1), child(2, { state: "FAILED" }), child(3));
    expect(relatives()).toEqual([
      "↓ Rank.call2 actor_rollout › rank 0 · failed",
      "↓ Rank.call3 actor_rollout › rank 0",
      "↓ Rank.call1 actor_rollout › rank 0",
    ]);
    expect(button(/call2/).dataset.tone).toBe("failed");
    await act(async () => button(/call1/).click());
    expect(selected()).toBe("1:0");
  });

  it("counts those that it doesn't list, a failed one among them is listed", async () => {
    const many = Array.from({ length: 300 }, (_, i) => child(1000 + i, i === 0 ? { state: "FAILED" } : {}));
    await show({ ...mother, children: 300 }, ...many);
    expect(relatives()).toHaveLength(100);
    expect(relatives()[0]).toContain("Rank.call1000");
    expect(text()).toContain("200 more children");
  });

  it("shows what becomes of them", async () => {
    const fit = { ...mother, state: "RUNNING", end_ns: null, children: 1 };
    await show(fit, child(1, { state: "RUNNING", end_ns: null }));
    expect(relatives()).toEqual(["↓ Rank.call1 actor_rollout › rank 0"]);
    await change(child(1, { state: "FAILED" }));
    expect(relatives()).toEqual(["↓ Rank.call1 actor_rollout › rank 0 · failed"]);
  });

  it("says where there is no parent, or it isn't held", async () => {
    await show(task(1));
    expect(text()).toContain("no parent known");
    hub.tasks = [child(2)];
    await select(2);
    expect(text()).toMatch(/parent \S+ isn't held/);
    expect(relatives()).toEqual([]);
  });

  it("doesn't say that a parent isn't held where the hub can't be asked", async () => {
    await show(child(2), mother);
    hub.tasks.push(child(3, { parent_task_id: taskId(51) }), task(51));
    hub.slow = true;
    await select(3);
    await act(async () => hub.flush()); // the task is known, its parent asked for
    await act(async () => useLink.setState({ phase: "lost" }));
    expect(text()).toContain("Rank.call3");
    expect(text()).not.toContain("isn't held");
  });

  it("doesn't say that a parent isn't held before it knows", async () => {
    hub.slow = true;
    await show(child(2), mother);
    await act(async () => hub.flush());
    expect(text()).toContain("Rank.call2");
    expect(text()).not.toContain("isn't held");
    await act(async () => hub.flush());
    expect(relatives()).toHaveLength(1);
  });
});
