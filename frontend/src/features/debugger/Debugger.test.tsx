import { act, fireEvent, screen, waitFor, within } from "@testing-library/react";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { breakpoint } from "../../../test/debug";
import { attached, chip, FILE, fresh, hub, key, named, show, stoppedAt, t, values } from "../../../test/debuggerPage";
import { setStale, useLink } from "../../api/stores";
import type { DebugSession } from "../../api/types.gen";
import { cursor } from "./keys";
import { useDebug } from "./state";

// The editor is tried in a browser.
vi.mock("./source/CodeView", () => import("../../../test/codeView"));
beforeEach(fresh);

describe("attaching", () => {
  it("shows stack, source and values of the rank that is clicked, with one question", async () => {
    const router = await show();
    await attached(1);
    expect(hub.commands("attach")).toMatchObject([{ worker: "w1" }]);
    expect(hub.commands("look")).toHaveLength(1);
    expect(hub.commands("variables")).toHaveLength(0);
    expect(screen.getAllByTestId("frame")[0]?.textContent).toContain("update_policy");
    expect(screen.getByText("4 Ray frames")).toBeTruthy();
    await waitFor(() => expect(screen.getByTestId("code").dataset).toMatchObject({ path: FILE, line: "212" }));
    expect(chip(1).getAttribute("aria-current")).toBe("true");
    expect(chip(1).dataset.attached).toBe("true");
    expect(chip(0).dataset.attached).toBeUndefined();
    expect(screen.getByTestId("debugger-said").textContent).toBe("Stopped at dp_actor.py:212 in update_policy");
    await waitFor(() => expect(router.state.location.search).toMatchObject({ worker: "w1", thread: "1" }));
  });

  it("goes to the first rank of the place that is clicked, or to the one that is looked at", async () => {
    await show();
    const open = () => screen.getAllByTestId("place-open")[0] as HTMLElement;
    expect(open().tagName).toBe("BUTTON");
    expect(open().getAttribute("aria-label")).toBe(t.openPlace("dp_actor.py:212", "actor_rollout rank 0"));
    fireEvent.click(open());
    await waitFor(() => expect(values().length).toBeGreaterThan(3));
    expect(hub.commands("attach")).toMatchObject([{ worker: "w0" }]);
    fireEvent.click(chip(1));
    await waitFor(() => expect(chip(1).getAttribute("aria-current")).toBe("true"));
    fireEvent.click(open());
    expect(chip(1).getAttribute("aria-current")).toBe("true");
  });

  it("a link attaches to nothing by itself", async () => {
    await show("/debugger?worker=w0");
    expect(hub.commands()).toEqual([]);
    fireEvent.click(screen.getByTestId("attach"));
    await waitFor(() => expect(values().length).toBeGreaterThan(3));
  });

  it("says who holds the worker, and tries until it is told to stop", async () => {
    await show();
    await attached();
    hub.made.put("w0", { state: "failed", held_by: "VS Code of mkim", note: null });
    expect(screen.getByText(t.heldBy("VS Code of mkim"))).toBeTruthy();
    fireEvent.click(screen.getByText(t.stopTrying));
    await waitFor(() => expect(hub.commands("detach")).toHaveLength(1));
  });

  it("shows a crash with its exception, as text", async () => {
    await show();
    fireEvent.click(chip(6));
    await waitFor(() => expect(screen.getByTestId("exception").textContent).toContain("<script>alert(1)</script>"));
    expect(document.querySelector("script")).toBeNull();
    expect(screen.getByTestId("tool-next").title).toContain(t.why.rebuilt);
    expect(screen.getByTestId("tool-continue").getAttribute("aria-disabled")).toBe("false");
    await waitFor(() => expect(screen.getByTestId("source-changed")).toBeTruthy());
  });
});

describe("stepping", () => {
  it("goes by keys, keeps what is unfolded and where the focus is", async () => {
    await show();
    await attached();
    fireEvent.click(named("metrics"));
    await waitFor(() => expect(named("'actor/pg_loss'")).toBeTruthy());
    named("metrics").focus();
    await key("F10");
    await stoppedAt(213);
    await waitFor(() => expect(named("batch_idx").textContent).toBe("batch_idx = 4"));
    await waitFor(() => expect(named("'actor/pg_loss'")?.dataset.old).toBeUndefined());
    expect(document.activeElement).toBe(named("metrics"));
    expect(hub.commands("next")).toMatchObject([{ args: { threadId: 1 } }]);
  });

  it("keeps the old values until the new ones are there", async () => {
    await show();
    await attached();
    hub.slow.add("look");
    await key("F10");
    await waitFor(() => expect(hub.commands("look")).toHaveLength(2));
    expect(named("batch_idx").textContent).toBe("batch_idx = 3");
    expect(screen.getByTestId("variables").dataset.old).toBe("true");
    await hub.flush();
    expect(named("batch_idx").textContent).toBe("batch_idx = 4");
    expect(screen.getByTestId("variables").dataset.old).toBeUndefined();
  });

  it("throws away what comes for an earlier stop", async () => {
    await show();
    await attached();
    hub.slow.add("look");
    await key("F10");
    await waitFor(() => expect(hub.commands("look")).toHaveLength(2));
    await key("F10");
    await waitFor(() => expect(hub.commands("look")).toHaveLength(3));
    const before = named("batch_idx").textContent;
    hub.slow.clear();
    await hub.flush();
    expect(before).toBe("batch_idx = 3");
    await waitFor(() => expect(named("batch_idx").textContent).toBe("batch_idx = 5"));
  });

  it("selects a caller's frame, and a new stop is shown from its top", async () => {
    const router = await show();
    await attached();
    fireEvent.click(screen.getAllByTestId("frame")[1] as HTMLElement);
    await waitFor(() => expect(named("self")).toBeTruthy());
    await waitFor(() => expect(values()).toHaveLength(1));
    await waitFor(() => expect(router.state.location.search).toMatchObject({ frame: "1" }));
    await key("F10");
    await waitFor(() => expect(named("batch_idx")).toBeTruthy());
    await waitFor(() => expect(router.state.location.search).not.toHaveProperty("frame"));
  });

  it("continues, on all threads if asked to", async () => {
    await show();
    await attached();
    fireEvent.click(screen.getByLabelText(t.allThreads));
    await key("F5");
    await waitFor(() => expect(hub.commands("continue")).toMatchObject([{ args: { threadId: 1, all: true } }]));
    await waitFor(() => expect(screen.getByTestId("tool-next").getAttribute("aria-disabled")).toBe("true"));
    expect(screen.getByTestId("tool-pause").getAttribute("aria-disabled")).toBe("false");
    expect((screen.getByTestId("tool-next") as HTMLButtonElement).disabled).toBe(false);
  });

  it("shows more of a deep stack on request, by keys too", async () => {
    const router = await show();
    hub.made.deep = 400;
    await attached();
    const frames = () => screen.getAllByTestId("frame");
    expect(frames()).toHaveLength(100);
    const more = screen.getByTestId("more-frames");
    expect(more.textContent).toBe(t.moreFrames(100, 307));
    frames()[99]?.focus();
    fireEvent.keyDown(frames()[99] as Element, { key: "ArrowDown" });
    expect(document.activeElement).toBe(more);
    fireEvent.click(more);
    await waitFor(() => expect(frames()).toHaveLength(200));
    expect(hub.commands("stackTrace")).toMatchObject([{ args: { threadId: 1, startFrame: 100, levels: 100 } }]);
    expect(document.activeElement).toBe(frames()[100]);
    // Looking at one of them keeps them all.
    fireEvent.click(frames()[199] as Element);
    await waitFor(() => expect(frames()[199]?.getAttribute("aria-current")).toBe("true"));
    expect(frames()).toHaveLength(200);
    await waitFor(() => expect(router.state.location.search).toMatchObject({ frame: "199" }));
    // The frame below the last one is fetched.
    await key("ArrowDown", { altKey: true });
    await waitFor(() => expect(frames()[200]?.getAttribute("aria-current")).toBe("true"));
    expect(screen.getByTestId("more-frames").textContent).toBe(t.moreFrames(100, 107));
  });

  it("a link to a frame far out leads there", async () => {
    await show("/debugger?worker=w0&thread=1&frame=320");
    hub.made.deep = 400;
    fireEvent.click(screen.getByTestId("attach"));
    await waitFor(() => expect(screen.getAllByTestId("frame")[320]?.getAttribute("aria-current")).toBe("true"));
  });

  it("offers the calls of the line", async () => {
    await show();
    await attached();
    fireEvent.keyDown(screen.getByTestId("tool-targets"), { key: "Enter" });
    fireEvent.click(await screen.findByText("_optimizer_step"));
    await waitFor(() => expect(hub.commands("stepIn")).toMatchObject([{ args: { threadId: 1, targetId: 2 } }]));
  });

  it("into a call that is chosen by keys alone", async () => {
    await show();
    await attached();
    await key("F11", { ctrlKey: true });
    await waitFor(() => expect(document.activeElement?.textContent).toBe("local_grad_norm"));
    fireEvent.keyDown(document.activeElement as Element, { key: "ArrowDown" });
    await waitFor(() => expect(document.activeElement?.textContent).toBe("_optimizer_step"));
    fireEvent.keyDown(document.activeElement as Element, { key: "Enter" });
    await waitFor(() => expect(hub.commands("stepIn")).toMatchObject([{ args: { threadId: 1, targetId: 2 } }]));
    await waitFor(() => expect(screen.queryByRole("menu")).toBeNull());
  });

  it("leaves no menu of calls open where the thread went on", async () => {
    await show();
    await attached();
    await key("F11", { ctrlKey: true });
    await screen.findByText("_optimizer_step");
    await key("F5");
    await waitFor(() => expect(screen.queryByRole("menu")).toBeNull());
  });
});

describe("breakpoints", () => {
  it("are set in the gutter, listed, switched off and removed", async () => {
    await show();
    await attached();
    fireEvent.click(await screen.findByText("gutter 208"));
    const row = await screen.findByTestId("breakpoint");
    expect(row.textContent).toContain("dp_actor.py:208");
    fireEvent.click(within(row).getByRole("checkbox"));
    await waitFor(() => expect(screen.getByTestId("breakpoint").dataset.enabled).toBe("false"));
    fireEvent.click(within(screen.getByTestId("breakpoint")).getByLabelText(t.remove("dp_actor.py:208")));
    await waitFor(() => expect(screen.queryByTestId("breakpoint")).toBeNull());
    expect(hub.commands("setBreakpoints").map((one) => one.args.breakpoints)).toMatchObject([
      [{ line: 208 }],
      [{ line: 208, enabled: false }],
      [],
    ]);
  });

  it("that can't hit are hollow and say why, in their row and their line's menu", async () => {
    await show();
    await attached();
    const message = "The condition isn't valid: <b>invalid syntax</b>";
    const row = { ...breakpoint(209, { path: FILE, condition: "i ===" }), verified: false, message };
    hub.made.put("w0", { breakpoints: [row, breakpoint(213, { path: FILE })] });
    const rows = await screen.findAllByTestId("breakpoint");
    expect(rows.map((one) => one.dataset.verified)).toEqual(["false", "true"]);
    expect(screen.getAllByTestId("breakpoint-problem").map((one) => one.textContent)).toEqual([message]);
    fireEvent.click(await screen.findByText("menu 209"));
    expect((await screen.findByTestId("line-menu")).textContent).toContain(message);
    // One that is off isn't meant to hit.
    hub.made.put("w0", { breakpoints: [{ ...row, enabled: false }] });
    await waitFor(() => expect(screen.queryByTestId("breakpoint-problem")).toBeNull());
  });

  it.each([
    ["the mouse", (item: Element) => fireEvent.click(item)],
    ["a key", (item: Element) => fireEvent.keyDown(item, { key: "Enter" })],
  ])("have a form whose first field has the focus, opened by %s", async (_, choose) => {
    await show();
    await attached();
    fireEvent.click(await screen.findByText("menu 209"));
    choose((await screen.findByText(t.editBreakpoint)).closest("[role=menuitem]") as Element);
    const form = await screen.findByTestId("breakpoint-form");
    await waitFor(() => expect(screen.queryByTestId("line-menu")).toBeNull());
    await act(async () => void (await new Promise((done) => setTimeout(done, 0))));
    expect(document.activeElement).toBe(within(form).getByLabelText(t.condition));
  });

  it("of functions and exceptions", async () => {
    await show();
    await attached();
    fireEvent.change(screen.getByLabelText(t.addFunction), { target: { value: "m.f" } });
    fireEvent.submit(screen.getByLabelText(t.addFunction));
    await waitFor(() => expect(screen.getByTestId("function-breakpoint").textContent).toContain("m.f"));
    fireEvent.click(screen.getByLabelText("Raised"));
    await waitFor(() =>
      expect(hub.commands("setExceptionBreakpoints")).toMatchObject([{ args: { filters: ["uncaught", "raised"] } }]),
    );
  });

  it("run to a line by its menu", async () => {
    await show();
    await attached();
    fireEvent.click(await screen.findByText("menu 209"));
    fireEvent.click(await screen.findByText(t.runToLine));
    await waitFor(() =>
      expect(hub.commands("runTo")).toMatchObject([{ args: { threadId: 1, path: FILE, line: 209 } }]),
    );
    await stoppedAt(209);
  });

  it("run to the line of the cursor by a key", async () => {
    await show();
    await attached();
    cursor.at = { path: FILE, line: 215 };
    await key("F10", { ctrlKey: true });
    await waitFor(() =>
      expect(hub.commands("runTo")).toMatchObject([{ args: { threadId: 1, path: FILE, line: 215 } }]),
    );
    await stoppedAt(215);
  });
});

it("opens a file of the worker", async () => {
  await show();
  await attached();
  await key("p", { ctrlKey: true });
  const field = await screen.findByRole("combobox");
  fireEvent.change(field, { target: { value: "trainer" } });
  await waitFor(() => expect(screen.getByText("verl.ray_trainer")).toBeTruthy());
  await waitFor(() => expect(screen.getAllByRole("option")).toHaveLength(1));
  fireEvent.keyDown(field, { key: "Enter" });
  await waitFor(() => expect(screen.getByTestId("code").dataset.path).toContain("ray_trainer.py"));
});

describe("states", () => {
  it("nothing paused: says how to stop somewhere", async () => {
    await show("/debugger", { sites: [] });
    expect(screen.getAllByText("breakpoint()").length).toBeGreaterThan(0);
    expect(screen.getAllByText("RAY_DEBUG_POST_MORTEM=1").length).toBeGreaterThan(0);
  });

  it("ended: what was seen stays, nothing acts", async () => {
    await show();
    await attached();
    await key("F5", { shiftKey: true });
    await waitFor(() => expect(screen.getByTestId("ended-bar").textContent).toContain("detached by me"));
    expect(named("batch_idx").textContent).toBe("batch_idx = 3");
    expect(screen.getByTestId("tool-next").title).toContain(t.why.ended);
    expect((screen.getByTestId("prompt") as HTMLTextAreaElement).readOnly).toBe(true);
  });

  it("stream lost: values stay, actions are off", async () => {
    await show();
    await attached();
    await act(async () => {
      useLink.setState({ phase: "lost" });
      setStale(true);
    });
    expect(screen.getByTestId("tool-next").title).toContain(t.why.lost);
    const before = hub.commands().length;
    await key("F10");
    expect(hub.commands()).toHaveLength(before);
    expect(named("epoch")).toBeTruthy();
  });

  it("worker out of reach: says since when", async () => {
    await show();
    await attached();
    hub.made.put("w0", { lost_ns: 1_700_000_000_000_000_000 });
    expect(screen.getByTestId("lost-bar")).toBeTruthy();
    expect(screen.getByTestId("tool-next").title).toContain(t.why.lost);
  });

  it("a viewer sees where it stands and the source, no values, and asks for none", async () => {
    await show("/debugger?worker=w0", { role: "viewer" });
    await act(
      async () =>
        void (await (hub.made as unknown as { call: (...a: unknown[]) => Promise<unknown> }).call("w0", "attach", {})),
    );
    expect(screen.getByTestId("tool-next").title).toContain(t.askDebugger);
    await waitFor(() => expect(screen.getByTestId("code").dataset.line).toBe("212"));
    expect(screen.getAllByText(t.noValues).length).toBeGreaterThan(0);
    expect(screen.getByText(t.noBreakpointsToSee)).toBeTruthy();
    expect(screen.queryByText(t.noBreakpoints)).toBeNull();
    expect(hub.commands().map((one) => one.command)).toEqual(["attach", "source"]);
    await key("F10");
    expect(hub.commands("next")).toEqual([]);
  });

  it("anonymous: how to sign in", async () => {
    await show("/debugger", { role: "anonymous", debug: false });
    expect(screen.getByText(t.signInCommand)).toBeTruthy();
    expect(screen.getByTestId("debugger-alone").textContent).not.toContain("`");
  });

  it("a refusal is said, and goes", async () => {
    await show();
    await attached();
    hub.made.sessions.delete("w0");
    await key("F10");
    await waitFor(() => expect(screen.getByTestId("debugger-notice").textContent).toContain("Not attached"));
    fireEvent.click(screen.getByLabelText(t.dismiss));
    expect(screen.queryByTestId("debugger-notice")).toBeNull();
  });

  it("a worker that runs and shows no file says what one can do", async () => {
    await show("/debugger?worker=w0");
    hub.slow.add("look");
    fireEvent.click(screen.getByTestId("attach"));
    await screen.findByTestId("source");
    await act(async () => {
      hub.made.put("w0", { state: "running", threads: [] } satisfies Partial<DebugSession>);
      useDebug.setState({ view: null, shown: null, tabs: [] });
    });
    await waitFor(() => expect(screen.getByTestId("source").textContent).toContain(t.runsNoFile));
  });

  it("sessions that run are listed", async () => {
    await show();
    await attached();
    hub.made.put("w0", { state: "running", threads: [] } satisfies Partial<DebugSession>);
    await waitFor(() => expect(screen.getByTestId("session").dataset.state).toBe("running"));
  });
});
