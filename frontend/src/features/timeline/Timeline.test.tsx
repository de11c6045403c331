import { createMemoryHistory, RouterProvider } from "@tanstack/react-router";
import { act, fireEvent, render, screen, within } from "@testing-library/react";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { actor, group, job, NOW_NS, node, patch } from "../../../test/rows";
import { groupOf, lane, marks, pause, task, taskId, timelineJob, timelineStep } from "../../../test/timeline";
import { resetClock, useClock } from "../../api/clock";
import { connection, NoAnswer, type Question } from "../../api/connection";
import { takePatch, useCluster, useLink } from "../../api/stores";
import type { Reply, Tables, Topic } from "../../api/types.gen";
import { makeRouter } from "../../app/router";
import { en, WordsProvider } from "../../i18n";
import { initialState, nowNs, reveal, select, useTimeline, windowOf } from "./state";

const put = (rows: Partial<Record<keyof Tables, object[]>>, topic: Topic = "timeline") =>
  act(() => {
    const tables = Object.fromEntries(Object.entries(rows).map(([name, set]) => [name, { set, drop: [] }]));
    takePatch(patch(topic, true, tables as Tables));
  });

async function show(url = "/timeline") {
  const router = makeRouter(createMemoryHistory({ initialEntries: [url] }));
  await act(async () => {
    render(
      <WordsProvider words={en}>
        <RouterProvider router={router} />
      </WordsProvider>,
    );
    await router.load();
  });
  return router;
}

const world = {
  nodes: [node("n1")],
  jobs: [job("01", { entrypoint: "python /srv/train.py --steps 9" })],
  groups: [group("g", { name: "actor_rollout" })],
  actors: [actor("a0", { state: "dead" })],
};
const driver = lane("driver", { kind: "driver", order: -1 });
const many = [driver, ...groupOf("g", 40, (rank) => ({ actor_id: `a${rank}`, failed: rank === 3 ? 1 : 0 }))];
const labels = () => screen.getAllByTestId("lane").map((one) => one.dataset.lane);
const press = (key: string) => act(async () => fireEvent.keyDown(document.body, { key }));
const rest = () => act(() => vi.advanceTimersByTimeAsync(400));

let asked: Question[];
let answer: (question: Question) => Partial<Reply>;

beforeEach(() => {
  vi.useFakeTimers({ shouldAdvanceTime: true, now: NOW_NS / 1e6 });
  resetClock();
  useCluster.setState(useCluster.getInitialState(), true);
  useLink.setState({ ...useLink.getInitialState(), phase: "live" }, true);
  useClock.setState({ heldAt: null });
  useTimeline.setState(initialState(), true);
  asked = [];
  answer = () => ({ marks: marks([{ lane: "g-3", start: 1 }]) });
  vi.spyOn(connection, "ask").mockImplementation(async (question) => {
    asked.push(question);
    return answer(question) as Reply;
  });
  vi.spyOn(HTMLElement.prototype, "clientWidth", "get").mockReturnValue(1208);
  vi.spyOn(HTMLElement.prototype, "clientHeight", "get").mockReturnValue(700);
});

describe("Timeline", () => {
  it("shows a skeleton only after 300 ms", async () => {
    await show();
    expect(screen.queryByTestId("loading")).toBeNull();
    await rest();
    expect(screen.getByTestId("loading")).toBeTruthy();
  });

  it("says how to start a job, and when a job has no tasks yet", async () => {
    put({}, "topology");
    put({});
    await show();
    expect(screen.getByTestId("timeline-empty").textContent).toContain("No job runs on this cluster");
    put(world, "topology");
    expect(screen.getByTestId("timeline-empty").textContent).toContain("No tasks yet");
  });

  it("folds a large group, but for ranks that need a person, and unfolds by click", async () => {
    put(world, "topology");
    put({ timeline_jobs: [timelineJob()], lanes: many, pauses: [pause(["g-7"])] });
    await show();
    expect(labels()).toEqual(["driver", "g", "g-3", "g-7"]);
    expect(screen.getByTestId("lanes").textContent).toContain("train.py");
    expect(screen.getByText("38 other ranks")).toBeTruthy();
    await act(async () => fireEvent.click(screen.getByText("38 other ranks")));
    expect(labels()).toHaveLength(42);
    const top = screen.getAllByRole("treeitem")[1];
    expect(top?.getAttribute("aria-expanded")).toBe("true");
    if (top) await act(async () => fireEvent.click(top));
    expect(labels()).toEqual(["driver", "g"]);
  });

  it("asks for the lanes that are seen, and for the whole range once", async () => {
    put(world, "topology");
    put({ timeline_jobs: [timelineJob()], lanes: many });
    await show();
    await rest();
    const questions = asked.filter((question) => question.type === "query_timeline");
    expect(questions.map((question) => question.lanes)).toContainEqual(["driver", "g", "g-3"]);
    expect(questions.map((question) => question.lanes)).toContainEqual(["driver", "g"]);
    expect(useTimeline.getState().phase).toBe("ready");
  });

  it("takes window and selection from the URL, finds where it lies, and writes back what changes", async () => {
    put(world, "topology");
    put({ timeline_jobs: [timelineJob()], lanes: many });
    const id = taskId(9);
    answer = (question) =>
      question.type === "query_tasks"
        ? { tasks: { tasks: [task(id, { lane_id: "g-30" })] } as never }
        : { marks: marks([]) };
    const from = NOW_NS - 60e9;
    const router = await show(`/timeline?from=${from}&to=${NOW_NS}&task=${id}:0`);
    await rest();
    expect(useTimeline.getState()).toMatchObject({ follow: false, selected: { task_id: id }, lane: "g-30" });
    expect(windowOf(useTimeline.getState())).toEqual({ from, to: NOW_NS });
    expect(labels()).toContain("g-30"); // unfolded, or it couldn't be seen
    expect(screen.getByTestId("timeline-said").textContent).toContain("actor_rollout rank 30");
    await press("w");
    await press("Escape");
    await rest();
    const search = router.state.location.search as Record<string, string>;
    expect(Number(search.to) - Number(search.from)).toBeCloseTo(42e9, -6);
    expect(search.task).toBeUndefined();
    expect(search.lanes).toBe("g");
  });

  it("follows live, zooms at now, and stands still where it is moved", async () => {
    put(world, "topology");
    put({ timeline_jobs: [timelineJob()], lanes: many });
    await show();
    const wide = windowOf(useTimeline.getState());
    await press("w");
    const narrow = windowOf(useTimeline.getState());
    expect(useTimeline.getState().follow).toBe(true);
    expect(narrow.to - narrow.from).toBeLessThan(wide.to - wide.from);
    expect(narrow.to).toBeGreaterThan(nowNs());
    await press("a");
    expect(useTimeline.getState().follow).toBe(false);
    const still = windowOf(useTimeline.getState());
    await rest();
    expect(windowOf(useTimeline.getState())).toEqual(still);
  });

  it("goes from step to step, and from lane to lane", async () => {
    put(world, "topology");
    const steps = [1, 2, 3].map((n) => timelineStep(n, { start_ns: NOW_NS - (4 - n) * 20e9 }));
    put({ timeline_jobs: [timelineJob()], lanes: many, steps });
    await show(`/timeline?from=${NOW_NS - 10e9}&to=${NOW_NS}`);
    const start = () => windowOf(useTimeline.getState()).from + 0.5e9;
    await press("[");
    expect(start()).toBeCloseTo(NOW_NS - 20e9, -3);
    await press("[");
    expect(start()).toBeCloseTo(NOW_NS - 40e9, -3);
    await press("]");
    expect(start()).toBeCloseTo(NOW_NS - 20e9, -3);
    await press("ArrowDown");
    await press("ArrowDown");
    expect(useTimeline.getState().lane).toBe("g");
    await press("ArrowRight");
    expect(labels()).toHaveLength(42);
    await press("ArrowLeft");
    expect(labels()).toHaveLength(2);
  });

  it("keeps its hands off keys that are typed elsewhere or lead to another view", async () => {
    put(world, "topology");
    put({ timeline_jobs: [timelineJob()], lanes: many });
    const router = await show();
    const before = useTimeline.getState().span;
    const input = document.body.appendChild(document.createElement("input"));
    fireEvent.keyDown(input, { key: "w" });
    input.remove();
    expect(useTimeline.getState().span).toBe(before);
    await press("g");
    await press("o");
    expect(router.state.location.pathname).toBe("/overview");
    await press("g");
    await press("t");
    expect(router.state.location.pathname).toBe("/timeline");
  });

  it("says when nothing is in the window, and leads back", async () => {
    put(world, "topology");
    put({ timeline_jobs: [timelineJob({ running: 0 })], lanes: many });
    await show(`/timeline?from=1000000000000000000&to=1000000060000000000`);
    const nothing = screen.getByTestId("timeline-nothing");
    await act(async () => fireEvent.click(within(nothing).getByRole("button")));
    expect(screen.queryByTestId("timeline-nothing")).toBeNull();
    const { from, to } = windowOf(useTimeline.getState());
    expect(from < NOW_NS && to > NOW_NS).toBe(true);
  });

  it("says what was lost, and what the hub refuses", async () => {
    put(world, "topology");
    const lost = timelineJob({ dropped: { ray: 1204, agent: null, hub: 0 }, truncated: 7 });
    put({ timeline_jobs: [lost], lanes: many });
    vi.mocked(connection.ask).mockRejectedValue(
      new NoAnswer({ code: "x", message: "Too many lanes", hint: "Fold some" }),
    );
    await show();
    expect(screen.getByTestId("timeline-lost").textContent).toContain("dropped 1 204 task events");
    expect(screen.getByTestId("timeline-lost").textContent).toContain("7 tasks held by Ray and not sent");
    expect(screen.getByTitle("1 204 by Ray, unknown in the agents, 0 in the hub")).toBeTruthy();
    await rest();
    expect(screen.getByTestId("timeline-error").textContent).toBe("Too many lanesFold some");
  });

  it("asks no more while it is frozen", async () => {
    put(world, "topology");
    put({ timeline_jobs: [timelineJob()], lanes: many });
    await show();
    await rest();
    await press(" ");
    const [count, { to }] = [asked.length, windowOf(useTimeline.getState())];
    for (const version of [2, 3, 4]) {
      put({ timeline_jobs: [timelineJob({ version })], lanes: many });
      await rest();
    }
    expect(asked.length).toBe(count);
    expect(windowOf(useTimeline.getState()).to).toBe(to);
    await press(" ");
    await rest();
    await rest();
    expect(asked.length).toBeGreaterThan(count);
  });

  it("begins anew with another job", async () => {
    const jobs = [job("01"), job("02", { start_ns: NOW_NS - 1e9 })];
    put({ ...world, jobs }, "topology");
    put({ timeline_jobs: [timelineJob(), timelineJob({ job_id: "02" })], lanes: many });
    const router = await show("/timeline?job=01");
    act(() => {
      select({ task_id: taskId(1), attempt: 0 }, { lane_id: "g-3", from_ns: NOW_NS - 2e9, to_ns: NOW_NS });
      reveal({ lane_id: "g-30", from_ns: NOW_NS - 2e9, to_ns: NOW_NS });
    });
    await rest();
    await act(async () => router.navigate({ to: ".", search: ((old: object) => ({ ...old, job: "02" })) as never }));
    await rest();
    expect(useTimeline.getState()).toMatchObject({ jobId: "02", selected: null, follow: true });
    expect(useTimeline.getState().folds.size).toBe(0);
    expect(screen.queryAllByTestId("lane")).toEqual([]);
  });

  it("shows names as text", async () => {
    const name = '<img src=x onerror="alert(1)">';
    put(world, "topology");
    put({ timeline_jobs: [timelineJob()], lanes: [lane("evil", { kind: "group", label: name })] });
    await show();
    expect(document.querySelector("img")).toBeNull();
    expect(screen.getByText(name)).toBeTruthy();
  });
});
