import { beforeEach, describe, expect, it } from "vitest";
import { TestHub } from "../../../../test/hub";
import { lane, NOW_NS, patch, pause, task, taskId } from "../../../../test/rows";
import { takePatch, useCluster, useLink } from "../../../api/stores";
import type { Pause, Task } from "../../../api/types.gen";
import { initialState, useTimeline, windowOf } from "../state";
import { jump, show } from "./jump";

/** Failed `s` seconds after `NOW_NS`. */
const failed = (number: number, s: number, over: Partial<Task> = {}) =>
  task(number, {
    state: "FAILED",
    submit_ns: NOW_NS + s * 1e9,
    start_ns: null,
    end_ns: NOW_NS + (s + 1) * 1e9,
    ...over,
  });

const selected = () => {
  const { selected: own } = useTimeline.getState();
  return own && `${Number.parseInt(own.task_id, 16)}:${own.attempt}`;
};
const select = (number: number, attempt = 0) =>
  useTimeline.setState({ selected: { task_id: taskId(number), attempt } });
const at = (s: number) => useTimeline.setState({ follow: false, from: NOW_NS + (s - 5) * 1e9, span: 10e9 });
const pauses = (...set: Pause[]) => takePatch(patch("timeline", false, { pauses: { set, drop: [] } }));
const go = (by: 1 | -1) => jump(by, NOW_NS + 100e9);

let hub: TestHub;
beforeEach(() => {
  useCluster.setState(useCluster.getInitialState(), true);
  useLink.setState(useLink.getInitialState(), true);
  useTimeline.setState({ ...initialState(), jobId: "01" }, true);
  takePatch(patch("timeline", true, { lanes: { set: [lane("rank:a0")], drop: [] } }));
  hub = new TestHub([failed(1, 10), task(2), failed(3, 20), failed(4, 30)]);
});

describe("jump", () => {
  it("goes from the middle of the window where nothing is selected", async () => {
    at(15);
    expect(await go(1)).toBe("found");
    expect(selected()).toBe("3:0");
    useTimeline.setState({ selected: null });
    at(15);
    expect(await go(-1)).toBe("found");
    expect(selected()).toBe("1:0");
  });

  it("goes on from the selection, and comes round at both ends", async () => {
    select(1);
    const seen = [];
    for (let i = 0; i < 3; i++) seen.push([await go(1), selected()]);
    expect(seen).toEqual([
      ["found", "3:0"],
      ["found", "4:0"],
      ["wrapped", "1:0"],
    ]);
    expect([await go(-1), selected()]).toEqual(["wrapped", "4:0"]);
    expect([await go(-1), selected()]).toEqual(["found", "3:0"]);
  });

  it("goes on from a selection that is neither failed nor paused", async () => {
    hub.tasks.push(task(5, { submit_ns: NOW_NS + 25e9, start_ns: NOW_NS + 25e9 }));
    select(5);
    expect([await go(1), selected()]).toEqual(["found", "4:0"]);
    select(5);
    expect([await go(-1), selected()]).toEqual(["found", "3:0"]);
  });

  it("passes by none of those that began in the same moment, in either direction", async () => {
    hub.tasks = [failed(1, 10), failed(2, 20), failed(3, 20), failed(4, 20), failed(5, 30)];
    for (const by of [1, -1] as const) {
      const seen = new Set<string | null>();
      select(1);
      for (let i = 0; i < 5; i++) {
        await go(by);
        seen.add(selected());
      }
      expect(seen.size).toBe(5);
    }
  });

  it("tells attempts of one task apart", async () => {
    hub.tasks = [
      failed(1, 10),
      failed(1, 12, { attempt: 1 }),
      task(1, { attempt: 2, submit_ns: NOW_NS + 14e9, start_ns: null }),
    ];
    select(1, 0);
    expect([await go(1), selected()]).toEqual(["found", "1:1"]);
    expect([await go(1), selected()]).toEqual(["wrapped", "1:0"]);
    hub.tasks = [failed(1, 10), failed(1, 10, { attempt: 1 }), failed(2, 20)];
    select(1, 1);
    expect([await go(1), selected()]).toEqual(["found", "2:0"]);
  });

  it("stops at paused tasks too", async () => {
    hub.held.add(`${taskId(6)}:0`);
    hub.tasks.push(task(6, { state: "RUNNING", submit_ns: NOW_NS + 22e9, start_ns: NOW_NS + 22e9, end_ns: null }));
    select(3);
    pauses(pause("p", { candidates: [taskId(6)] }));
    expect([await go(1), selected()]).toEqual(["found", "6:0"]);
    expect([await go(1), selected()]).toEqual(["found", "4:0"]);
  });

  it("stops at one of the tasks that may be paused, where it isn't known which", async () => {
    const running = { state: "RUNNING", end_ns: null };
    hub.tasks.push(task(6, { ...running, submit_ns: NOW_NS + 22e9, start_ns: NOW_NS + 22e9 }));
    hub.tasks.push(task(7, { ...running, submit_ns: NOW_NS + 23e9, start_ns: NOW_NS + 23e9 }));
    pauses(
      pause("p", { exact: false, candidates: [taskId(6), taskId(7)] }),
      pause("q", { exact: false, candidates: [taskId(99)] }),
    );
    select(3);
    expect([await go(1), selected()]).toEqual(["found", "6:0"]);
    expect([await go(1), selected()]).toEqual(["found", "4:0"]);
    expect([await go(-1), selected()]).toEqual(["found", "6:0"]);
    expect([await go(-1), selected()]).toEqual(["found", "3:0"]);
    hub.tasks = hub.tasks.filter((one) => one.state === "RUNNING");
    select(7);
    expect([await go(1), selected()]).toEqual(["wrapped", "6:0"]);
    expect([await go(1), selected()]).toEqual(["none", "6:0"]);
  });

  it("passes by nothing where a worker's clock is behind that of who submitted", async () => {
    hub.tasks = [failed(1, 10, { submit_ns: NOW_NS + 10e9, start_ns: NOW_NS + 9.99e9 }), failed(2, 9.995)];
    select(1);
    expect([await go(1), selected()]).toEqual(["found", "2:0"]);
  });

  it("says when there is nothing else", async () => {
    hub.tasks = [failed(1, 10)];
    select(1);
    expect([await go(1), selected()]).toEqual(["none", "1:0"]);
    hub.tasks = [task(2)];
    expect(await go(1)).toBe("none");
    useTimeline.setState({ jobId: null });
    expect(await go(1)).toBe("none");
  });

  it("stays in its job", async () => {
    hub.tasks = [failed(1, 10, { job_id: "02" })];
    at(0);
    expect(await go(1)).toBe("none");
    expect(selected()).toBeNull();
  });

  it("goes from the window where the selection isn't held any more", async () => {
    select(77);
    at(25);
    expect([await go(1), selected()]).toEqual(["found", "4:0"]);
  });

  it("shows the lane of a pause where no task of it is known", async () => {
    hub.tasks = [];
    pauses(pause("old", { end_ns: NOW_NS + 1e9, lane_ids: ["rank:old"] }), pause("p", { exact: false }));
    expect(await go(1)).toBe("found");
    expect(useTimeline.getState()).toMatchObject({ selected: null, lane: "rank:a0" });
    pauses(pause("p", { exact: false, end_ns: NOW_NS + 2e9 }));
    expect(await go(1)).toBe("none");
  });

  it("lets it be known that the hub didn't answer", async () => {
    pauses(pause("p", { exact: false, candidates: [taskId(6)] }));
    useLink.setState({ phase: "lost" });
    await expect(go(1)).rejects.toThrow("stream lost");
    expect(selected()).toBeNull();
  });
});

describe("show", () => {
  it("selects, and moves the window there", () => {
    at(0);
    show(failed(1, 500), NOW_NS + 600e9);
    expect(useTimeline.getState().place).toEqual({
      lane_id: "rank:a0",
      from_ns: NOW_NS + 500e9,
      to_ns: NOW_NS + 501e9,
    });
    const { from, to } = windowOf(useTimeline.getState());
    expect(from).toBeLessThan(NOW_NS + 500e9);
    expect(to).toBeGreaterThan(NOW_NS + 501e9);
  });

  it("takes one that runs as lasting until now", () => {
    show(task(1, { end_ns: null, state: "RUNNING" }), NOW_NS + 600e9);
    expect(useTimeline.getState().place).toMatchObject({ from_ns: NOW_NS, to_ns: NOW_NS + 600e9 });
  });

  it("selects what has no lane or time, and stays where it is", () => {
    at(0);
    const before = windowOf(useTimeline.getState());
    show(task(1, { lane_id: null }), NOW_NS);
    show(task(2, { submit_ns: null, start_ns: null, end_ns: null }), NOW_NS);
    expect(selected()).toBe("2:0");
    expect(useTimeline.getState().place).toBeNull();
    expect(windowOf(useTimeline.getState())).toEqual(before);
  });
});
