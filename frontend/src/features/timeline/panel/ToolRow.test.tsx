import { act, fireEvent, screen } from "@testing-library/react";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { TestHub } from "../../../../test/hub";
import { lane, NOW_NS, patch, pause, task, taskId, timelineJob } from "../../../../test/rows";
import { showAlone } from "../../../../test/show";
import { learnClock, resetClock, tick } from "../../../api/clock";
import { takePatch, useCluster, useLink } from "../../../api/stores";
import type { TimelineJob } from "../../../api/types.gen";
import { initialState, useTimeline } from "../state";
import { ToolRow } from "./ToolRow";

const put = (row: Partial<TimelineJob>) =>
  act(() => takePatch(patch("timeline", false, { timeline_jobs: { set: [timelineJob(row)], drop: [] } })));
/** The hub's clock stands so many seconds after `NOW_NS`. */
const clockAt = (s: number) =>
  act(() => {
    resetClock();
    learnClock(NOW_NS + s * 1e9);
    tick();
  });
const source = () => screen.getByTestId("task-source");
const row = () => screen.getByTestId("tool-row");
const press = (key: string, target: Element | Window = window, how: KeyboardEventInit = {}) =>
  act(async () => void fireEvent.keyDown(target, { key, ...how }));
const selected = () => useTimeline.getState().selected?.task_id;

let hub: TestHub;
beforeEach(() => {
  useCluster.setState(useCluster.getInitialState(), true);
  useLink.setState(useLink.getInitialState(), true);
  useTimeline.setState({ ...initialState(), jobId: "01" }, true);
  takePatch(patch("timeline", true, { lanes: { set: [lane("rank:a0")], drop: [] } }));
  hub = new TestHub();
});

describe("the tool row", () => {
  it("switches following on and off", async () => {
    await showAlone(<ToolRow />);
    const follow = screen.getByRole("switch", { name: "Follow live" });
    expect(follow.getAttribute("aria-checked")).toBe("true");
    fireEvent.click(follow);
    expect(follow.getAttribute("aria-checked")).toBe("false");
    expect(useTimeline.getState().follow).toBe(false);
    act(() => useTimeline.setState({ follow: true }));
    expect(follow.getAttribute("aria-checked")).toBe("true");
  });

  it("fits all that is held, and a step where there are steps", async () => {
    put({});
    await showAlone(<ToolRow />);
    const step = screen.getByRole<HTMLButtonElement>("button", { name: "Fit step" });
    expect(step.disabled).toBe(true);
    put({ steps: "inferred" });
    expect(step.disabled).toBe(false);
    fireEvent.click(screen.getByRole("button", { name: "Fit all" }));
    const { from, span, follow } = useTimeline.getState();
    expect(follow).toBe(false);
    expect(from).toBeLessThan(NOW_NS);
    expect(from + span).toBeGreaterThan(NOW_NS + 60e9);
    expect(span).toBeLessThan(70e9);
  });

  it("explains colours and shapes", async () => {
    await showAlone(<ToolRow />);
    for (const text of ["rollout", "update_actor", "failed: solid orange with a cross", "paused: hatched, two bars"])
      expect(row().textContent).toContain(text);
  });
});

describe("where the tasks come from", () => {
  it("pull: how old, how often, and why there is no push", async () => {
    put({ total: 1234, note: "Start the head with `raydebug start --head`." });
    await showAlone(<ToolRow />);
    clockAt(0);
    expect(source().textContent).toBe("1 234 attempts · pull, < 1 s old, every 2.0 s");
    expect(source().title).toContain("raydebug start --head");
    expect(source().title).toContain("5 %");
  });

  it("ages while nothing comes, and shows that it is late", async () => {
    put({});
    await showAlone(<ToolRow />);
    clockAt(4);
    expect(source().textContent).toContain("4.00 s old");
    expect(source().className).not.toContain("late");
    clockAt(9);
    expect(source().className).not.toContain("late");
    clockAt(75);
    expect(source().textContent).toContain("75.0 s old");
    expect(source().className).toContain("late");
  });

  it("is not late by its own long period", async () => {
    put({ period_ns: 30e9 });
    await showAlone(<ToolRow />);
    clockAt(45);
    expect(source().textContent).toContain("every 30 s");
    expect(source().className).not.toContain("late");
    clockAt(90);
    expect(source().className).toContain("late");
  });

  it("push is live, and not when nothing was heard for long", async () => {
    put({ source: "push", period_ns: null });
    await showAlone(<ToolRow />);
    clockAt(1);
    expect(source().textContent).toBe("10 attempts · push, live");
    expect(source().className).not.toContain("late");
    clockAt(60);
    expect(source().className).toContain("late");
    expect(source().textContent).not.toContain("live");
  });

  it("says when none have come", async () => {
    put({ fresh_ns: null, total: 0 });
    await showAlone(<ToolRow />);
    expect(source().textContent).toBe("0 attempts · no tasks have come yet");
  });
});

describe("what is missing", () => {
  const badge = () => screen.queryByText(/lost$|not sent$|clipped$/);

  it("is not spoken of where nothing is", async () => {
    put({});
    await showAlone(<ToolRow />);
    expect(badge()).toBeNull();
  });

  it.each([
    [{ dropped: { ray: 3, agent: 4, hub: null } }, "7 task events lost", /by Ray.*: 3\n.*helpers: 4\n.*limit: unknown/],
    [{ dropped: { ray: null, agent: null, hub: 1 } }, "1 task event lost", /by Ray.*: unknown\n.*no push\n.*limit: 1/],
    [{ truncated: 5 }, "5 tasks not sent", /not sent: 5/],
    [{ clipped_lanes: 2 }, "clipped", /Lanes left out, the oldest: 2/],
  ] as [Partial<TimelineJob>, string, RegExp][])("%j", async (what, text, why) => {
    put(what);
    await showAlone(<ToolRow />);
    expect(badge()?.textContent?.trim()).toBe(text);
    expect(badge()?.title).toMatch(why);
  });
});

describe("jumps", () => {
  const failed = (number: number) => {
    const begun = NOW_NS + number * 1e9;
    return task(number, { state: "FAILED", submit_ns: begun, start_ns: begun, end_ns: begun + 1e9 });
  };
  const next = () => screen.getByRole<HTMLButtonElement>("button", { name: /^Next failed or paused/ });
  const said = () => row().querySelector("[class*=said]")?.textContent;

  beforeEach(() => {
    hub.tasks = [failed(1), failed(2), failed(3)];
    useTimeline.setState({ selected: { task_id: taskId(1), attempt: 0 } });
  });

  it("count what failed and what stands still in this job", async () => {
    const set = [pause("a"), pause("b", { end_ns: NOW_NS + 1e9 }), pause("c", { job_id: "02" })];
    act(() => takePatch(patch("timeline", false, { pauses: { set, drop: [] } })));
    put({ failed: 3 });
    await showAlone(<ToolRow />);
    expect(row().textContent).toContain("3 failed");
    expect(row().textContent).toContain("1 paused");
  });

  it("can't be done where there is nothing", async () => {
    put({ failed: 0 });
    await showAlone(<ToolRow />);
    expect(next().disabled).toBe(true);
    put({ failed: 1 });
    expect(next().disabled).toBe(false);
  });

  it("by button and by key, there and back", async () => {
    put({ failed: 3 });
    await showAlone(<ToolRow />);
    await act(async () => next().click());
    expect(selected()).toBe(taskId(2));
    await press("n");
    expect(selected()).toBe(taskId(3));
    expect(said()).toBe("");
    await press("n");
    expect(selected()).toBe(taskId(1));
    expect(said()).toBe("round to the other end");
    await press("N", window, { shiftKey: true });
    expect(selected()).toBe(taskId(3));
    await act(async () => screen.getByRole("button", { name: /^Previous/ }).click());
    expect(selected()).toBe(taskId(2));
  });

  it("go two on for two presses, though the answer to the first isn't there yet", async () => {
    put({ failed: 3 });
    await showAlone(<ToolRow />);
    hub.slow = true;
    await press("n");
    await press("n");
    for (let i = 0; i < 8; i++) await act(async () => hub.flush());
    expect(selected()).toBe(taskId(3));
  });

  it("of a key that is held down go no faster than the answers", async () => {
    put({ failed: 3 });
    await showAlone(<ToolRow />);
    hub.slow = true;
    await press("n");
    for (let i = 0; i < 20; i++) await press("n", window, { repeat: true });
    for (let i = 0; i < 8; i++) await act(async () => hub.flush());
    expect(selected()).toBe(taskId(2));
    await press("n", window, { repeat: true });
    for (let i = 0; i < 8; i++) await act(async () => hub.flush());
    expect(selected()).toBe(taskId(3));
  });

  it("leave the keys of others alone", async () => {
    put({ failed: 3 });
    await showAlone(<ToolRow />);
    await press("n", screen.getByRole("combobox"));
    await press("n", window, { ctrlKey: true });
    await press("n", window, { metaKey: true });
    expect(selected()).toBe(taskId(1));
  });

  it("say that there is no other, for a while", async () => {
    vi.useFakeTimers();
    hub.tasks = [failed(1)];
    put({ failed: 1 });
    await showAlone(<ToolRow />);
    await press("n");
    expect(said()).toBe("no other");
    await act(() => vi.advanceTimersByTimeAsync(4000));
    expect(said()).toBe("");
  });

  it("don't say that there is no other where the hub didn't answer", async () => {
    put({ failed: 3 });
    await showAlone(<ToolRow />);
    act(() => useLink.setState({ phase: "lost" }));
    await press("n");
    expect(said()).toBe("no answer from the hub");
  });
});
