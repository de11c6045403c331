import { act, fireEvent, screen, waitFor, within } from "@testing-library/react";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { attached, fresh, hub, key, named, show, t } from "../../../test/debuggerPage";
import { useClock } from "../../api/clock";
import { run } from "./console/store";

// The editor is tried in a browser.
vi.mock("./source/CodeView", () => import("../../../test/codeView"));
beforeEach(fresh);

describe("values", () => {
  it("come by pages", async () => {
    await show();
    await attached();
    fireEvent.click(named("samples"));
    await waitFor(() => expect(screen.getByText(t.more(9900))).toBeTruthy());
    fireEvent.click(screen.getByText(t.more(9900)));
    await waitFor(() => expect(screen.getByText(t.more(9800))).toBeTruthy());
    expect(named("150").textContent).toContain("'sample 150'");
  });

  it("are walked through by arrow keys, and changed by Enter", async () => {
    await show();
    await attached();
    named("batch_idx").focus();
    fireEvent.keyDown(named("batch_idx"), { key: "ArrowDown" });
    expect(document.activeElement).toBe(named("epoch"));
    fireEvent.keyDown(named("epoch"), { key: "Enter" });
    const input = screen.getByLabelText(t.edit("epoch"));
    fireEvent.change(input, { target: { value: "7" } });
    fireEvent.keyDown(input, { key: "Enter" });
    await waitFor(() =>
      expect(hub.commands("setVariable")).toMatchObject([{ args: { evaluateName: "epoch", value: "7" } }]),
    );
    await waitFor(() => expect(hub.commands("look")).toHaveLength(2)); // other values may have changed with it
    await waitFor(() => expect(document.activeElement).toBe(named("epoch")));
  });

  it("are watched at each stop", async () => {
    await show();
    await attached();
    const watch = () => within(screen.getByTestId("watches"));
    const field = screen.getByLabelText(t.addWatchTitle);
    fireEvent.change(field, { target: { value: "batch_idx" } });
    fireEvent.submit(field);
    await waitFor(() => expect(watch().getByTestId("value").textContent).toContain("batch_idx = 3"));
    await key("F10");
    await waitFor(() => expect(watch().getByTestId("value").textContent).toContain("batch_idx = 4"));
    fireEvent.click(watch().getByLabelText(t.removeWatch("batch_idx")));
    expect(watch().queryByTestId("value")).toBeNull();
  });

  it("are in hex on request: locals, watches, the console's answers; a choice that stays", async () => {
    await show();
    await attached();
    const field = screen.getByLabelText(t.addWatchTitle);
    fireEvent.change(field, { target: { value: "batch_idx" } });
    fireEvent.submit(field);
    const watched = () => within(screen.getByTestId("watches")).getByTestId("value").textContent;
    await waitFor(() => expect(watched()).toContain("batch_idx = 3"));
    const toggle = screen.getByRole("button", { name: t.hex });
    expect(toggle.getAttribute("aria-pressed")).toBe("false");
    fireEvent.click(toggle);
    await waitFor(() => expect(named("batch_idx").textContent).toBe("batch_idx = 0x3"));
    await waitFor(() => expect(watched()).toContain("batch_idx = 0x3"));
    expect(toggle.getAttribute("aria-pressed")).toBe("true");
    expect(localStorage.getItem("raydebug.hex")).toBe("1");
    await act(() => run("w0", "255"));
    await waitFor(() => expect(screen.getAllByTestId("console-entry").at(-1)?.textContent).toContain("0xff"));
    fireEvent.click(named("samples"));
    await waitFor(() => expect(hub.commands("variables").at(-1)?.args).toMatchObject({ format: { hex: true } }));
    fireEvent.click(toggle);
    await waitFor(() => expect(named("batch_idx").textContent).toBe("batch_idx = 3"));
    await waitFor(() => expect(watched()).toContain("batch_idx = 3"));
    expect(hub.commands("look").at(-1)?.args).not.toHaveProperty("format");
  });

  it("stand at the ends of lines", async () => {
    await show();
    await attached();
    expect(await screen.findByText(/^211: local_norm = /)).toBeTruthy();
  });
});

describe("the console", () => {
  const entries = () => screen.getAllByTestId("console-entry");
  const type = async (text: string) => {
    const prompt = screen.getByTestId("prompt");
    fireEvent.change(prompt, { target: { value: text } });
    await act(async () => void fireEvent.keyDown(prompt, { key: "Enter" }));
  };

  it("shows results, output and errors, and remembers what was typed", async () => {
    await show();
    await attached();
    await type("epoch");
    await waitFor(() => expect(entries().at(-1)?.dataset.kind).toBe("result"));
    await type("1/0");
    await waitFor(() => expect(entries().at(-1)?.textContent).toContain("ZeroDivisionError"));
    expect(screen.queryByTestId("debugger-notice")).toBeNull();
    const prompt = screen.getByTestId("prompt") as HTMLTextAreaElement;
    fireEvent.keyDown(prompt, { key: "ArrowUp" });
    expect(prompt.value).toBe("1/0");
    fireEvent.keyDown(prompt, { key: "ArrowUp" });
    expect(prompt.value).toBe("epoch");
    expect(hub.commands("evaluate")).toMatchObject([
      { args: { expression: "epoch", context: "repl", frameId: 100 } },
      {},
    ]);
  });

  it("shows a result before its entry is there, and once", async () => {
    await show();
    await attached();
    hub.slow.add("console");
    await type("epoch");
    await waitFor(() => expect(entries().map((one) => one.dataset.kind)).toEqual(["note", "input", "result"]));
    hub.slow.clear();
    await hub.flush();
    await waitFor(() => expect(entries().at(-1)?.textContent).toContain("2.4 ms"));
    expect(entries().map((one) => one.dataset.kind)).toEqual(["note", "input", "result"]);
  });

  it("says which evaluation hasn't come back", async () => {
    await show();
    await attached();
    useClock.setState({ now: Date.now() });
    await type("hang()");
    await waitFor(() => expect(screen.getByTestId("still-running").textContent).toContain("still running, since"));
    await type("epoch");
    await waitFor(() => expect(entries().at(-1)?.dataset.kind).toBe("result"));
  });

  it("completes", async () => {
    await show();
    await attached();
    const prompt = screen.getByTestId("prompt") as HTMLTextAreaElement;
    fireEvent.change(prompt, { target: { value: "lo", selectionEnd: 2 } });
    prompt.setSelectionRange(2, 2);
    fireEvent.keyDown(prompt, { key: "Tab" });
    const list = within(await screen.findByTestId("completions"));
    expect(list.getAllByRole("option").map((one) => one.textContent)).toContain("loggervariable");
    fireEvent.keyDown(prompt, { key: "ArrowDown" });
    fireEvent.keyDown(prompt, { key: "Enter" });
    expect(prompt.value).toBe("log_prob");
    expect(hub.commands("evaluate")).toEqual([]);
  });

  it("shows messages to read", async () => {
    await show();
    await attached();
    fireEvent.click(screen.getByRole("tab", { name: t.messages }));
    await waitFor(() => expect(screen.getByTestId("messages").textContent).toContain("initialize"));
  });
});
