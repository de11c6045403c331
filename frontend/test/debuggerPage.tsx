// The debugger's page on the made-up debugger, and what is found on it. Tests mock the editor by test/codeView.
import { createMemoryHistory, RouterProvider } from "@tanstack/react-router";
import { act, configure, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { expect, vi } from "vitest";
import { takePatch, useCluster, useLink } from "../src/api/stores";
import type { PausedSite, Role, Tables } from "../src/api/types.gen";
import { makeRouter } from "../src/app/router";
import { useConsoles } from "../src/features/debugger/console/store";
import { useFormat } from "../src/features/debugger/format";
import { useWatches } from "../src/features/debugger/right/watchStore";
import { freshState, useDebug } from "../src/features/debugger/state";
import { en, WordsProvider } from "../src/i18n";
import { DebugHub } from "./debug";
import { actor, job, node, patch, site, thread } from "./rows";

// What is waited for comes; how soon is the machine's affair.
configure({ asyncUtilTimeout: 20_000 });
vi.setConfig({ testTimeout: 60_000 });

export const t = en.debugger;
export const FILE = "/opt/verl/workers/actor/dp_actor.py";
export const held = site("s1", {
  file: FILE,
  line: 212,
  function: "update_policy",
  members: [0, 1].map((rank) =>
    thread({ worker_id: `w${rank}`, actor_id: `a${rank}`, rank, group: "actor_rollout", thread_name: "MainThread" }),
  ),
});
export const crash = site("s2", {
  kind: "exception",
  file: "/opt/verl/reward_fn.py",
  line: 88,
  exception: "SandboxTimeout",
  message: "<script>alert(1)</script>",
  members: [thread({ worker_id: "w9", rank: 6, group: "reward", thread_name: "MainThread" })],
});

export let hub: DebugHub;

export async function show(
  url = "/debugger",
  { role = "debugger" as Role, sites = [held, crash] as PausedSite[], debug = true } = {},
) {
  hub = new DebugHub(sites, role);
  const put = (topic: "topology" | "paused" | "debug", rows: Record<string, object[]>) =>
    takePatch(
      patch(
        topic,
        true,
        Object.fromEntries(Object.entries(rows).map(([name, set]) => [name, { set, drop: [] }])) as Tables,
      ),
    );
  put("topology", { nodes: [node("n1", { ip: "10.0.0.1" })], jobs: [job("01")], groups: [], actors: [actor("a0")] });
  put("paused", { paused: sites });
  if (debug) put("debug", { sessions: [] });
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

export const chip = (rank: number) =>
  screen.getAllByTestId("place-member").find((one) => one.dataset.rank === String(rank)) as HTMLElement;
export const values = () => within(screen.getByTestId("variables")).getAllByTestId("value");
export const named = (name: string) => values().find((one) => one.dataset.name === name) as HTMLElement;
export const attached = async (rank = 0) => {
  fireEvent.click(chip(rank));
  await waitFor(() => expect(values().length).toBeGreaterThan(3));
};
export const key = (text: string, over = {}) =>
  act(async () => void fireEvent.keyDown(document.body, { key: text, ...over }));
export const stoppedAt = (line: number) =>
  waitFor(() => expect(screen.getAllByTestId("frame")[0]?.textContent).toContain(`dp_actor.py:${line}`));

/** Before each test: nothing of the one before. */
export function fresh(): void {
  localStorage.clear();
  useCluster.setState(useCluster.getInitialState(), true);
  useLink.setState({ ...useLink.getInitialState(), phase: "live" }, true);
  useDebug.setState(freshState(), true);
  useConsoles.setState({ held: new Map(), ahead: new Map(), runs: new Map() });
  useFormat.setState({ hex: false });
  useWatches.setState({ expressions: [], values: new Map() });
}
