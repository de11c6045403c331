// @vitest-environment node
import { describe, expect, it } from "vitest";
import { breakpoint, debugSession, debugThread, frame } from "../../../test/debug";
import { site, thread } from "../../../test/rows";
import { isHitCondition, nearestLine, shapeOf, withBreakpoint } from "./breakpoints";
import { followThread, threadAt } from "./follow";
import { pressed } from "./keys";
import { stackRows } from "./right/frames";
import { asHeatMap, asStatistics, asTable, colourAt, figure } from "./right/inspected";
import { whyOff } from "./Toolbar";
import { readPlace, samePlace, writePlace } from "./url";
import { say } from "./values";

describe("url", () => {
  it("goes there and back", () => {
    const place = { worker: "ab12", threadId: 3, frame: 2, view: { path: "/a/b:c.py", line: 7 } };
    expect(readPlace(writePlace(place))).toEqual(place);
    expect(samePlace(writePlace(place), { worker: "ab12", thread: "3", frame: "2", file: "/a/b:c.py:7" })).toBe(true);
  });
  it("takes no nonsense", () => {
    expect(readPlace({ worker: "<b>", thread: "-1", frame: "x", file: "/a.py" })).toEqual({
      worker: null,
      threadId: null,
      frame: null,
      view: null,
    });
  });
});

describe("breakpoints", () => {
  it("are sent as all of a file", () => {
    const all = [breakpoint(5), breakpoint(9, { condition: "x" }), breakpoint(5, { path: "/other.py" })];
    expect(withBreakpoint(all, "/srv/a.py", 7, { enabled: true }).map((one) => one.line)).toEqual([5, 7, 9]);
    expect(withBreakpoint(all, "/srv/a.py", 5, null).map((one) => one.line)).toEqual([9]);
    expect(withBreakpoint(all, "/srv/a.py", 9, { condition: "y" })[1]).toEqual({ line: 9, condition: "y" });
  });
  it("have a shape each", () => {
    expect(shapeOf({ line: 1 })).toBe("dot");
    expect(shapeOf({ line: 1, hitCondition: "5" })).toBe("conditional");
    expect(shapeOf({ line: 1, condition: "x", logMessage: "{x}" })).toBe("log");
  });
  it("go to the next line that can hit, if it is near", () => {
    expect(nearestLine([3, 6, 40], 4)).toBe(6);
    expect(nearestLine([3, 6, 40], 6)).toBe(6);
    expect(nearestLine([3, 6, 40], 20)).toBe(20);
    expect(nearestLine([], 4)).toBe(4);
  });
  it("know a hit condition", () => {
    for (const good of ["", "5", ">=5", "%3", "== 2"]) expect(isHitCondition(good)).toBe(true);
    for (const bad of ["x", "5 6", "=> 5"]) expect(isHitCondition(bad)).toBe(false);
  });
});

describe("which thread is looked at", () => {
  const stopped = (id: number, stop: number) => debugThread(id, { state: "stopped", stop });
  const at = (threads: ReturnType<typeof debugThread>[], id: number | null, seen: number) =>
    followThread(debugSession({ threads }), id, seen)?.threadId;
  it("is the newest stop at first", () => {
    expect(at([debugThread(1), stopped(2, 1), stopped(3, 2)], null, 0)).toBe(3);
    expect(at([debugThread(1)], null, 0)).toBe(1);
    expect(at([], 5, 0)).toBeUndefined();
  });
  it("stays while it stands, and in the moment of a step", () => {
    expect(at([stopped(1, 1), stopped(2, 2)], 1, 1)).toBe(1);
    expect(at([debugThread(1), stopped(2, 2)], 1, 2)).toBe(1);
  });
  it("is another that stops while this one runs", () => {
    expect(at([debugThread(1), stopped(2, 3)], 1, 2)).toBe(2);
  });
  it("is found for a member of a place", () => {
    const session = debugSession({
      threads: [
        debugThread(1, { state: "stopped", file: "/srv/runner.py", line: 88, task_id: "t1" }),
        debugThread(2, { state: "stopped", file: "/srv/runner.py", line: 88, task_id: "t2" }),
        debugThread(3, { state: "stopped", file: "/x.py", line: 1, os_thread_id: 77 }),
      ],
    });
    expect(threadAt(session, site("s"), thread({ task_id: "t2" }))?.threadId).toBe(2);
    expect(threadAt(session, site("s"), thread({ session_thread_id: 1 }))?.threadId).toBe(1);
    expect(threadAt(session, site("s"), thread({ thread_id: 77 }))?.threadId).toBe(3);
    expect(threadAt(session, site("s", { line: 5 }), thread())).toBeNull();
  });
});

describe("keys", () => {
  const key = (text: string, over = {}) => ({
    key: text,
    shiftKey: false,
    altKey: false,
    ctrlKey: false,
    metaKey: false,
    ...over,
  });
  it.each([
    ["F5", {}, "continue"],
    ["F5", { shiftKey: true }, "detach"],
    ["F5", { ctrlKey: true }, null],
    ["F10", {}, "next"],
    ["F11", { shiftKey: true }, "stepOut"],
    ["p", { ctrlKey: true }, "open"],
    ["ArrowUp", { altKey: true }, "frameUp"],
    ["a", {}, null],
  ])("%s %j", (text, over, expected) => expect(pressed(key(text, over), false)).toBe(expected));
  it("leaves letters to who types", () => {
    expect(pressed(key("o"), false)).toBe("open");
    expect(pressed(key("o"), true)).toBeNull();
    expect(pressed(key("F10"), true)).toBe("next");
  });
});

describe("why a control is off", () => {
  const at = { may: true, reachable: true, state: "stopped" as const, stopped: true, busy: false, rebuilt: false };
  it.each([
    ["next", {}, null],
    ["next", { may: false }, "role"],
    ["next", { state: null }, "noSession"],
    ["next", { reachable: false }, "lost"],
    ["next", { stopped: false }, "running"],
    ["next", { busy: true }, "busy"],
    ["next", { rebuilt: true }, "rebuilt"],
    ["continue", { rebuilt: true }, null],
    ["pause", {}, "stopped"],
    ["pause", { stopped: false }, null],
    ["detach", { stopped: false }, null],
    ["detach", { state: "ended" }, "ended"],
    ["continue", { state: "ended" }, "ended"],
  ] as const)("%s %j", (what, over, expected) => expect(whyOff(what, { ...at, ...over })).toBe(expected));
});

describe("the stack", () => {
  const frames = [
    frame(1),
    frame(2, { subtle: true }),
    frame(3, { subtle: true }),
    frame(4),
    frame(5, { subtle: true }),
  ];
  const texts = (index: number, unfolded: number[] = []) =>
    stackRows(frames, index, new Set(unfolded)).map((row) => (row.kind === "frame" ? row.frame.name : `${row.count}`));
  it("folds Ray's frames", () => expect(texts(0)).toEqual(["f1", "2", "f4", "1"]));
  it("unfolds them, counted from the outermost", () =>
    expect(texts(0, [2])).toEqual(["f1", "2", "f2", "f3", "f4", "1"]));
  it("shows the one that is looked at", () => expect(texts(4)).toEqual(["f1", "2", "f4", "1", "f5"]));
});

describe("what is said of a value", () => {
  it.each([
    [
      { value: "3", type: "int" },
      { main: "3", look: "number" },
    ],
    [
      { value: "'x'", type: "str", summary: { kind: "str", length: 1 } },
      { main: "'x'", look: "text", meta: "" },
    ],
    [
      { value: "{…}", type: "dict", summary: { kind: "dict", length: 4 } },
      { main: "dict", meta: "len 4", rest: "{…}" },
    ],
    [
      {
        value: "tensor(…)",
        type: "torch.Tensor",
        summary: { kind: "tensor", shape: [4, 1024], dtype: "torch.bfloat16", device: "cuda:3" },
      },
      { main: "Tensor(4, 1024)", meta: "bf16 cuda:3" },
    ],
    [
      { value: "tensor(1.5)", type: "Tensor", summary: { kind: "tensor", shape: [], dtype: "float32", device: "cpu" } },
      { main: "tensor(1.5)", meta: "f32" },
    ],
    [
      { value: "tensor(?)", type: "Tensor", summary: { kind: "tensor", shape: [], pending: true } },
      { main: "Tensor()", rest: "" },
    ],
  ])("%j", (valued, expected) => expect(say(valued)).toMatchObject(expected));
});

it("says a shape and a dtype once", () => {
  const summary = { kind: "tensor", shape: [64, 5], dtype: "float32", device: "cpu" };
  const said = (value: string, over = {}) => say({ value, type: "torch.Tensor", summary: { ...summary, ...over } });
  expect(said("Tensor[64×5] float32 grad [[0.1, …]]")).toMatchObject({ main: "Tensor(64, 5)", rest: "[[0.1, …]]" });
  expect(said("Tensor[64×5] bfloat16 cuda:0")).toMatchObject({ main: "Tensor(64, 5)", rest: "" });
  expect(said("Tensor[] float32 grad 0.38", { shape: [] })).toMatchObject({ main: "0.38", meta: "f32" });
});

describe("what the probe says of an array", () => {
  it("is checked", () => {
    for (const bad of [null, 5, "x", [], {}, { cells: 5 }]) {
      expect(asStatistics(bad)).toBeNull();
      expect(asHeatMap(bad)).toBeNull();
      expect(asTable(bad)).toBeNull();
    }
    expect(asHeatMap({ cells: [[1, "nan", {}], 5], shape: "x" })).toMatchObject({
      cells: [[1, "nan", null], []],
      shape: [],
    });
  });
  it("is said with as many digits as matter", () => {
    expect([1.23456789, 1e-9, 3, null, "nan"].map(figure)).toEqual(["1.2346", "1e-9", "3", "–", "nan"]);
  });
  it("has colours by sign where there are both", () => {
    expect(colourAt(0, -1, 3)).toEqual(colourAt(0, -3, 1));
    expect(colourAt(-1, -1, 1)).not.toEqual(colourAt(1, -1, 1));
    expect(colourAt("nan", 0, 1)).toBeNull();
    expect(colourAt(5, 5, 5)).not.toBeNull();
  });
});
