import { describe, expect, it } from "vitest";
import { NOW_NS } from "../../../test/rows";
import { type BinIn, lane, marks, type SliceIn, taskId } from "../../../test/timeline";
import { beside, hitAt } from "./hit";
import type { Placed } from "./layout";
import { FAILED, merge, PENDING, RUNNING } from "./marks";

const frame = { jobId: "01", from: NOW_NS, to: NOW_NS + 1e9, pixels: 100 };
const scale = { from: NOW_NS, per: 1e6, width: 1000 };
const row = { kind: "lane", key: "a", lane: lane("a"), level: 0, fold: null, leaves: 0 } as const;
const placed = (depth = 1, height = 21): Placed => ({ row, y: 0, height, depth });
const data = (slices: SliceIn[], bins: BinIn[] = []) => merge(null, frame, ["a"], marks(slices, bins)).lanes.get("a");
const at = (x: number, y: number, slices: SliceIn[], bins: BinIn[] = [], where = placed()) =>
  hitAt(where, data(slices, bins), frame, scale, x, y, NOW_NS + 900e6);
const idAt = (...args: Parameters<typeof at>) => {
  const hit = at(...args);
  return hit?.kind === "slice" ? hit.task.task_id : null;
};

describe("hit", () => {
  it("finds the slice under the pointer, and one that is thinner than it", () => {
    const slices = [
      { lane: "a", start: 100, end: 200, id: 1 },
      { lane: "a", start: 300, end: 300.1, id: 2 },
    ];
    expect(idAt(150, 10, slices)).toBe(taskId(1));
    expect(idAt(302, 10, slices)).toBe(taskId(2));
    expect(idAt(250, 10, slices)).toBeNull();
    expect(at(150, 10, slices)).toMatchObject({ start_ns: NOW_NS + 100e6, end_ns: NOW_NS + 200e6, submit_ns: null });
  });

  it("knows what runs up to now, and what waits", () => {
    const slices = [
      { lane: "a", start: 100, state: RUNNING, id: 1 },
      { lane: "a", submit: 950, state: PENDING, id: 2 },
    ];
    expect(idAt(890, 10, slices)).toBe(taskId(1));
    expect(idAt(930, 10, slices)).toBeNull();
    expect(at(890, 10, slices)).toMatchObject({ end_ns: null, state: RUNNING });
  });

  it("tells calls on top of each other apart by height", () => {
    const slices = [
      { lane: "a", start: 100, end: 200, depth: 0, id: 1 },
      { lane: "a", start: 100, end: 200, depth: 1, id: 2 },
    ];
    const two = placed(2, 38);
    expect(idAt(150, 8, slices, [], two)).toBe(taskId(1));
    expect(idAt(150, 28, slices, [], two)).toBe(taskId(2));
  });

  it("prefers the failed one, and the one that runs to the one that waits below it", () => {
    const slices = [
      { lane: "a", submit: 0, start: 500, end: 600, id: 1 },
      { lane: "a", start: 100, end: 300, id: 2 },
      { lane: "a", start: 150, end: 151, state: FAILED, id: 3 },
    ];
    expect(idAt(200, 10, slices)).toBe(taskId(2));
    expect(idAt(150, 10, slices)).toBe(taskId(3));
    expect(idAt(50, 10, slices)).toBe(taskId(1));
  });

  it("finds bins, a failed one first", () => {
    const bins = [
      { lane: "a", index: 20, count: 9 },
      { lane: "a", index: 21, count: 1, states: 1 << FAILED },
    ];
    expect(at(205, 10, [], bins)).toMatchObject({ kind: "bin", count: 1 });
    expect(at(195, 10, [], [bins[0] as BinIn])).toMatchObject({ count: 9, from_ns: NOW_NS + 200e6 });
    expect(at(400, 10, [], bins)).toBeNull();
  });
});

describe("beside", () => {
  const held = data([
    { lane: "a", start: 300, end: 400, id: 3 },
    { lane: "a", start: 100, end: 200, id: 1 },
    { lane: "a", submit: 200, state: PENDING, id: 2 },
  ]);
  const next = (id: number | null, by: 1 | -1, from = NOW_NS + 250e6) =>
    held && beside("a", held, id === null ? null : { task_id: taskId(id), attempt: 0 }, by, from)?.task.task_id;

  it("goes by start, and ends at the ends", () => {
    expect([next(1, 1), next(2, 1), next(3, 1)]).toEqual([taskId(2), taskId(3), undefined]);
    expect([next(3, -1), next(1, -1)]).toEqual([taskId(2), undefined]);
  });

  it("begins at a time where nothing is selected", () => {
    expect([next(null, 1), next(null, -1)]).toEqual([taskId(3), taskId(2)]);
    expect([next(null, 1, NOW_NS + 999e6), next(null, -1, NOW_NS + 999e6)]).toEqual([undefined, taskId(3)]);
  });
});
