import { act, fireEvent, screen } from "@testing-library/react";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { TestHub } from "../../../../test/hub";
import { lane, NOW_NS, patch, task, taskId } from "../../../../test/rows";
import { showAlone } from "../../../../test/show";
import { takePatch, useCluster, useLink } from "../../../api/stores";
import { initialState, useTimeline } from "../state";
import { clockTime } from "../times";
import { lanePath, Search } from "./Search";

const lanes = [
  lane("group:g", { kind: "group", label: "actor_rollout" }),
  lane("role:g/actor", { kind: "role", label: "actor", parent_lane_id: "group:g" }),
  lane("rank:a0", { label: "rank 0", parent_lane_id: "role:g/actor" }),
  lane("rank:a3", { label: "rank 3", parent_lane_id: "role:g/actor" }),
];
const box = () => screen.getByRole<HTMLInputElement>("combobox", { name: /Search method/ });
const options = () => screen.queryAllByRole("option");
const current = () => options().findIndex((one) => one.getAttribute("aria-selected") === "true");
const press = (key: string, target: Element | Window = box()) =>
  act(async () => {
    fireEvent.keyDown(target, { key });
  });
/** Types without a rest. */
const type = (text: string) => fireEvent.change(box(), { target: { value: text } });
const rest = (ms = 200) => act(() => vi.advanceTimersByTimeAsync(ms));
const selected = () => useTimeline.getState().selected?.task_id;

let hub: TestHub;
beforeEach(async () => {
  vi.useFakeTimers();
  useCluster.setState(useCluster.getInitialState(), true);
  useLink.setState(useLink.getInitialState(), true);
  useTimeline.setState({ ...initialState(), jobId: "01" }, true);
  takePatch(patch("timeline", true, { lanes: { set: lanes, drop: [] } }));
  hub = new TestHub([
    task(1, { name: "Rank.generate" }),
    task(2, { name: "Rank.generate", submit_ns: NOW_NS + 5e9, start_ns: NOW_NS + 5.25e9, end_ns: NOW_NS + 7.25e9 }),
    task(3, { name: "Rank.update", lane_id: "rank:a3", state: "FAILED", error_type: "WORKER_DIED" }),
  ]);
  hub.labels = Object.fromEntries(lanes.map((one) => [one.lane_id, one.label]));
  await showAlone(<Search />);
  await rest();
});

describe("search", () => {
  it("is reached by the slash, but not out of another field", async () => {
    await press("/", window);
    expect(document.activeElement).toBe(box());
    box().blur();
    const field = document.body.appendChild(document.createElement("input"));
    field.focus();
    await press("/", field);
    expect(document.activeElement).toBe(field);
    field.remove();
  });

  it("asks once the typing rests, and lists what was found with lane, state, time and duration", async () => {
    box().focus();
    for (const text of ["g", "ge", "gen"]) type(text);
    await rest(100);
    expect(hub.asked).toEqual([]);
    await rest(100);
    expect(hub.asked).toEqual([{ type: "query_tasks", job_id: "01", text: "gen", limit: 50 }]);
    expect(useTimeline.getState().q).toBe("gen");
    expect(screen.getByRole("status").textContent).toBe("2 tasks");
    const cells = [...(options()[0]?.children ?? [])].map((cell) => cell.textContent || cell.getAttribute("title"));
    expect(cells).toEqual([
      "finished",
      "Rank.generate",
      "actor_rollout › actor › rank 0",
      clockTime(NOW_NS + 5.25e9, 1e9),
      "2.00 s",
    ]);
  });

  it.each([
    ["the method", "UPDATE"],
    ["the rank", "rank 3"],
    ["the error", "worker_died"],
    ["the id", taskId(3)],
  ])("finds by %s", async (_, text) => {
    box().focus();
    type(text);
    await rest();
    expect(options().map((one) => one.textContent)).toEqual([expect.stringContaining("Rank.update")]);
    expect(options()[0]?.firstElementChild?.getAttribute("title")).toBe("failed");
  });

  it("moves by the arrows, not beyond the ends, and Enter goes there", async () => {
    box().focus();
    type("generate");
    await rest();
    expect(current()).toBe(0);
    await press("ArrowUp");
    expect(current()).toBe(0);
    await press("ArrowDown");
    await press("ArrowDown");
    expect(current()).toBe(1);
    expect(box().getAttribute("aria-activedescendant")).toBe(options()[1]?.id);
    await press("Enter");
    expect(selected()).toBe(taskId(1));
    expect(useTimeline.getState().wanted?.lane_id).toBe("rank:a0");
    expect(options()).toEqual([]);
    expect(document.activeElement).not.toBe(box());
    expect(useTimeline.getState().q).toBe("generate");
  });

  it("goes where one clicks", async () => {
    box().focus();
    type("generate");
    await rest();
    await act(async () => options()[1]?.click());
    expect(selected()).toBe(taskId(1));
  });

  it("begins at the first of another answer", async () => {
    box().focus();
    type("generate");
    await rest();
    await press("ArrowDown");
    type("rank");
    await rest();
    expect(options()).toHaveLength(3);
    expect(current()).toBe(0);
  });

  it("Enter straight after typing goes to what was typed, not to what was found before", async () => {
    box().focus();
    type("generate");
    await rest();
    hub.slow = true;
    type("update");
    await press("Enter");
    expect(selected()).toBeUndefined();
    await act(async () => hub.flush());
    expect(selected()).toBe(taskId(3));
    expect(options()).toEqual([]);
  });

  it("an Enter that found nothing goes nowhere later", async () => {
    box().focus();
    type("nothing such");
    await press("Enter");
    await rest();
    expect(screen.getByRole("status").textContent).toBe("No task found");
    type("generate");
    await rest();
    expect(selected()).toBeUndefined();
    expect(options()).toHaveLength(2);
  });

  it("an Enter counts for what was typed then: not for what is typed on, nor when the stream is back", async () => {
    box().focus();
    hub.slow = true;
    type("update");
    await press("Enter");
    type("generate");
    await rest();
    await act(async () => hub.flush());
    expect(options()).toHaveLength(2);
    hub.slow = false;
    act(() => useLink.setState({ phase: "lost" }));
    type("update");
    await press("Enter");
    await rest();
    await act(async () => useLink.setState({ phase: "live" }));
    expect(options()).toHaveLength(1);
    expect(selected()).toBeUndefined();
  });

  it("leaves the space between two words while the next is thought of", async () => {
    box().focus();
    type("rank ");
    await rest();
    expect(box().value).toBe("rank ");
    expect(useTimeline.getState().q).toBe("rank");
    type(`${box().value}3`);
    await rest();
    expect(options()).toHaveLength(1);
  });

  it("says how many more there are than it shows", async () => {
    hub.tasks = Array.from({ length: 60 }, (_, i) => task(i + 1));
    box().focus();
    type("generate");
    await rest();
    expect(screen.getByRole("status").textContent).toBe("60 tasks, the newest 50");
    expect(options()).toHaveLength(50);
  });

  it("says that it waits, and that no answer came", async () => {
    hub.slow = true;
    box().focus();
    type("generate");
    await rest();
    expect(screen.getByRole("status").textContent).toBe("Searching…");
    await act(async () => hub.flush());
    expect(screen.getByRole("status").textContent).toBe("2 tasks");
    act(() => useLink.setState({ phase: "lost" }));
    type("update");
    await rest();
    expect(screen.getByRole("status").textContent).toMatch(/^No answer from the hub/);
    expect(options()).toEqual([]);
  });

  it("Escape empties it first, then leaves it", async () => {
    box().focus();
    type("generate");
    await rest();
    await press("Escape");
    expect([box().value, useTimeline.getState().q]).toEqual(["", ""]);
    expect(document.activeElement).toBe(box());
    await press("Escape");
    expect(document.activeElement).not.toBe(box());
  });

  it("closes when the focus goes elsewhere, and shows what the URL says", async () => {
    box().focus();
    type("generate");
    await rest();
    act(() => options()[0]?.focus());
    expect(options()).toHaveLength(2);
    act(() => options()[0]?.blur());
    expect(options()).toEqual([]);
    act(() => useTimeline.setState({ q: "update" }));
    expect(box().value).toBe("update");
  });

  it("shows names from the job as text", async () => {
    hub.tasks = [task(1, { name: "<img src=x onerror=alert(1)>" })];
    box().focus();
    type("img");
    await rest();
    expect(options()[0]?.textContent).toContain("<img src=x");
    expect(document.querySelector("img")).toBeNull();
  });
});

describe("lanePath", () => {
  const known = new Map(lanes.map((one) => [one.lane_id, one]));
  it("names the lanes from the top", () => {
    expect(lanePath("rank:a3", known)).toBe("actor_rollout › actor › rank 3");
    expect(lanePath("group:g", known)).toBe("actor_rollout");
    expect(lanePath(null, known)).toBe("");
    expect(lanePath("rank:gone", known)).toBe("");
  });
  it("ends where lanes lie below themselves", () => {
    const loop = new Map([["x", lane("x", { parent_lane_id: "x" })]]);
    expect(lanePath("x", loop).length).toBeLessThan(100);
  });
});
