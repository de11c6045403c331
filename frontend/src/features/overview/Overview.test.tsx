import { createMemoryHistory, RouterProvider } from "@tanstack/react-router";
import { act, fireEvent, render, screen, within } from "@testing-library/react";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { actor, group, job, NOW_NS, node, patch, site, thread } from "../../../test/rows";
import { setStale, takePatch, useCluster, useLink } from "../../api/stores";
import type { Tables } from "../../api/types.gen";
import { makeRouter } from "../../app/router";
import { en, WordsProvider } from "../../i18n";

const put = (rows: Partial<Record<keyof Tables, object[]>>, topic: "topology" | "paused" = "topology") =>
  act(() => {
    const tables = Object.fromEntries(Object.entries(rows).map(([name, set]) => [name, { set, drop: [] }]));
    takePatch(patch(topic, true, tables as Tables));
  });

async function show(url = "/overview") {
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

const ranks = [0, 1].map((rank) =>
  actor(`a${rank}`, {
    group_id: "g",
    rank,
    parent_actor_id: "runner",
    state: rank === 0 ? "paused" : "waiting",
    task_name: "update_actor",
  }),
);
const runner = actor("runner", { class_name: "TaskRunner", state: "waiting", task_name: "run" });
const world = {
  nodes: [node("n1", { ip: "10.0.0.1" })],
  jobs: [job("01")],
  groups: [group("g", { name: "actor_rollout", parent_actor_id: "runner", world_size: 3 })],
  actors: [runner, ...ranks],
};
const members = [
  thread({ actor_id: "a0", worker_id: "w-a0", group: "actor_rollout", rank: 0, task_name: "update_actor" }),
];
const held = { paused: [site("s1", { members })] };
const cell = (rank: number) =>
  screen.getAllByTestId("rank-cell").find((one) => one.dataset.rank === String(rank)) as HTMLElement;

beforeEach(() => {
  useCluster.setState(useCluster.getInitialState(), true);
  useLink.setState({ ...useLink.getInitialState(), phase: "live" }, true);
});

describe("Overview", () => {
  it("shows a skeleton only after 300 ms", async () => {
    vi.useFakeTimers({ shouldAdvanceTime: true });
    await show();
    expect(screen.queryByTestId("loading")).toBeNull();
    await act(() => vi.advanceTimersByTimeAsync(400));
    expect(screen.getByTestId("loading")).toBeTruthy();
  });

  it("without a job says how to start one", async () => {
    put({ nodes: world.nodes });
    await show();
    expect(screen.getByText("No job runs on this cluster")).toBeTruthy();
    expect(screen.getByText("raydebug demo --breakpoint 5:1")).toBeTruthy();
  });

  it("shows groups, ranks with their state, and ranks not seen yet", async () => {
    put(world);
    await show();
    expect(screen.getByTestId("group").textContent).toContain("2 of 3 ranks");
    expect(cell(0).dataset).toMatchObject({ state: "paused", actorId: "a0" });
    expect(cell(1).dataset.state).toBe("waiting");
    expect(cell(2).dataset.state).toBe("unknown");
    expect(screen.getByTestId("maker").textContent).toContain("TaskRunner");
    expect(screen.getByText("Nothing is paused")).toBeTruthy();
  });

  it("selects a paused site: in the URL, marked in the grid", async () => {
    put(world);
    put(held, "paused");
    const router = await show();
    expect(screen.getByTestId("headline").textContent).toContain("update_actor is held by a breakpoint");
    expect(document.title).toBe("(1) raydebug");
    const panel = screen.getByTestId("paused-site");
    expect(panel.textContent).toContain("runner.py:88");
    await act(async () => fireEvent.click(within(panel).getByRole("button")));
    expect(router.state.location.search).toMatchObject({ site: "s1" });
    expect(cell(0).dataset.mark).toBe("hit");
    expect(cell(1).dataset.mark).toBe("dim");
  });

  it("marks the driver where it is the driver that is held", async () => {
    put({ ...world, jobs: [job("01", { driver: { ...job("01").driver, worker_id: "w-driver" } })] });
    const driver = thread({ worker_type: "driver", worker_id: "w-driver", actor_id: null });
    put({ paused: [site("s1", { members: [driver] })] }, "paused");
    await show("/overview?site=s1");
    expect(screen.getByTestId("driver").dataset.mark).toBe("hit");
    expect(cell(0).dataset.mark).toBe("dim");
  });

  it("says unknown where nothing can say what an actor does, and how many methods a threaded one runs", async () => {
    const silent = actor("silent", { group_id: "g", rank: 2, state: null });
    const threaded = actor("threaded", { class_name: "Threaded", state: "running", methods_running: 3 });
    put({ ...world, actors: [...world.actors, silent, threaded] });
    await show();
    expect(cell(2).getAttribute("aria-label")).toBe("rank 2, unknown");
    expect(screen.getByTestId("actor").textContent).toContain("3 methods running");
    const counts = screen.getAllByTestId("state-filter");
    expect(counts.find((one) => one.dataset.stateName === "unknown")?.textContent).toContain("1");
  });

  it("tells an anonymous viewer how to read messages, and shows them to others", async () => {
    const failed = actor("failed", { state: "failed", death_kind: "WORKER_DIED" });
    const thrown = site("s1", { kind: "exception", exception: "ValueError", members });
    const link = (role: "anonymous" | "viewer") =>
      act(() => useLink.setState({ welcome: { role, how: "none" } as never }));
    put({ ...world, actors: [...world.actors, failed] });
    put({ paused: [thrown] }, "paused");
    link("anonymous");
    await show("/overview?actor=failed");
    expect(screen.getByTestId("actor-details").textContent).toContain("WORKER_DIED");
    expect(screen.getAllByText("Sign in as viewer to read the message.")).toHaveLength(2);
    link("viewer");
    put({ ...world, actors: [...world.actors, { ...failed, death_cause: "exit code 137" }] });
    put({ paused: [{ ...thrown, message: "<b>no</b> data" }] }, "paused");
    expect(screen.queryByText("Sign in as viewer to read the message.")).toBeNull();
    expect(screen.getByTestId("actor-details").textContent).toContain("exit code 137");
    expect(screen.getByTestId("paused-site").textContent).toContain("<b>no</b> data");
  });

  it("says how many dead ones are left out", async () => {
    put({
      ...world,
      jobs: [job("01", { clipped_actors: 40 })],
      groups: world.groups.map((one) => ({ ...one, clipped: 7 })),
    });
    await show();
    expect(screen.getByTestId("group").textContent).toContain("7 older dead ranks not shown");
    expect(screen.getByText("40 older dead actors not shown.")).toBeTruthy();
  });

  it("opens details by click, closes them with Esc", async () => {
    put(world);
    const router = await show();
    await act(async () => fireEvent.click(cell(1)));
    expect(router.state.location.search).toMatchObject({ actor: "a1" });
    expect(screen.getByTestId("actor-details").textContent).toContain("actor_rollout rank 1");
    await act(async () => fireEvent.keyDown(document.body, { key: "Escape" }));
    expect(screen.queryByTestId("actor-details")).toBeNull();
  });

  it("moves in the grid with arrows, one tab stop", async () => {
    put(world);
    await show();
    const grid = screen.getByRole("grid");
    const stops = () => [...grid.querySelectorAll('[role="gridcell"][tabindex="0"]')];
    expect(stops()).toEqual([cell(0)]);
    cell(0).focus();
    fireEvent.keyDown(cell(0), { key: "ArrowRight" });
    expect(document.activeElement).toBe(cell(1));
    expect(stops()).toEqual([cell(1)]);
    fireEvent.keyDown(cell(1), { key: "ArrowDown" });
    expect(document.activeElement).toBe(cell(2));
  });

  it("filters by state through the URL", async () => {
    put(world);
    await show("/overview?state=paused");
    expect(cell(0).dataset.mark).toBe("none");
    expect(cell(1).dataset.mark).toBe("dim");
    expect(screen.getByRole("button", { name: /^Paused 1/ }).getAttribute("aria-pressed")).toBe("true");
  });

  it("freezes: rows stand still, the stream goes on", async () => {
    put(world);
    await show();
    await act(async () => fireEvent.keyDown(document.body, { key: " " }));
    put({ ...world, actors: [runner, ...ranks.map((one) => ({ ...one, state: "idle" }))] });
    expect(cell(0).dataset.state).toBe("paused");
    expect(screen.getByTestId("frozen-banner").textContent).toContain("Frozen at");
    await act(async () => fireEvent.keyDown(document.body, { key: " " }));
    expect(cell(0).dataset.state).toBe("idle");
  });

  it("says when the stream is lost, and keeps what is known", async () => {
    put(world);
    await show();
    act(() => {
      useLink.setState({ phase: "lost", heardAt: Date.now() });
      setStale(true);
    });
    expect(screen.getByTestId("connection").dataset.state).toBe("stale");
    expect(screen.getByTestId("stale-banner").textContent).toContain("Last data");
    expect(cell(0)).toBeTruthy();
  });

  it("says what an unreachable hub says", async () => {
    useLink.setState({
      phase: "connecting",
      stale: true,
      error: { code: "x", message: "Hub is down", hint: "See its log" },
    });
    await show();
    expect(screen.getByTestId("no-hub").textContent).toContain("Hub is downSee its log");
    expect(screen.getByTestId("connection").dataset.state).toBe("offline");
  });

  it("shows names as text", async () => {
    const name = '<img src=x onerror="alert(1)">';
    put({
      ...world,
      actors: [...world.actors, actor("evil", { class_name: name })],
      jobs: [job("01", { entrypoint: name })],
    });
    await show();
    expect(document.querySelector("img")).toBeNull();
    expect(screen.getAllByText(name).length).toBeGreaterThan(0);
  });

  it("names sources that are missing and nodes that are lost", async () => {
    const note = "helper missing on 10.0.0.3: not installed";
    put({
      ...world,
      nodes: [...world.nodes, node("n2", { alive: false, ip: "10.0.0.2", end_ns: NOW_NS })],
      sources: [{ name: "node stats", ok: false, fresh_ns: NOW_NS - 5e9, period_ns: 1e9, note }],
    });
    await show();
    expect(screen.getByTestId("sources").textContent).toContain(note);
    expect(screen.getByTestId("nodes").textContent).toContain("1 lost");
  });

  it("asks for a token where one is needed", async () => {
    useLink.setState({ phase: "connecting", signIn: "ray" });
    await show();
    expect(screen.getByTestId("sign-in").textContent).toContain("Sign in with Ray's token");
  });
});
