import { describe, expect, it } from "vitest";
import { NOW_NS } from "../../../test/rows";
import { byId, groupOf, lane, pause, timelineStep } from "../../../test/timeline";
import { MOST_FAILED, pausesByLane, type Row, rowsOf, treeOf } from "./lanes";
import { barOf, place, ROW, rowAt, scaleOf, seen, seenSteps, timeOf, xOf } from "./layout";

const none = new Set<string>();
const keys = (rows: Row[]) => rows.map((row) => row.key);
const rows = (lanes: ReturnType<typeof groupOf>, folds: [string, boolean][] = [], paused = none) =>
  rowsOf(treeOf(byId(lanes), "01"), new Map(folds), null, paused);

describe("rows", () => {
  it("folds many ranks, shows few", () => {
    expect(keys(rows(groupOf("g", 3)))).toEqual(["g", "g-0", "g-1", "g-2"]);
    expect(keys(rows(groupOf("g", 9)))).toEqual(["g"]);
    expect(keys(rows(groupOf("g", 9), [["g", true]]))).toHaveLength(10);
    expect(keys(rows(groupOf("g", 3), [["g", false]]))).toEqual(["g"]);
  });

  it("keeps paused and failed ranks in sight, and counts the others", () => {
    const lanes = groupOf("g", 64, (rank) => ({ failed: rank === 5 ? 1 : 0 }));
    const list = rows(lanes, [], new Set(["g-40"]));
    expect(keys(list)).toEqual(["g", "g-5", "g-40", "g rest"]);
    expect(list.at(-1)).toMatchObject({ kind: "rest", of: "g", count: 62 });
    expect(list[0]).toMatchObject({ fold: "some", leaves: 64 });
    expect(keys(rows(lanes, [["g", false]], new Set(["g-40"])))).toEqual(["g"]);
    const allFailed = rows(groupOf("g", 64, () => ({ failed: 1 })));
    expect(allFailed).toHaveLength(1 + MOST_FAILED + 1);
  });

  it("opens a group of roles by itself, and counts an actor once", () => {
    const lanes = [
      lane("g", { kind: "group" }),
      ...["actor", "rollout"].flatMap((role) => [
        lane(role, { kind: "role", parent_lane_id: "g", label: role }),
        ...Array.from({ length: 20 }, (_, i) =>
          lane(`${role}${i}`, { parent_lane_id: role, actor_id: `a${i}`, order: i }),
        ),
      ]),
    ];
    const list = rows(lanes);
    expect(keys(list)).toEqual(["g", "actor", "rollout"]);
    expect(list[0]).toMatchObject({ leaves: 20, level: 0 });
    expect(list[1]).toMatchObject({ level: 1, fold: "closed" });
  });

  it("loses no lane whose parent isn't known, and shows other jobs' lanes nowhere", () => {
    const lanes = [
      lane("x", { parent_lane_id: "gone" }),
      lane("y", { job_id: "02" }),
      lane("z", { parent_lane_id: "z" }),
    ];
    expect(keys(rows(lanes))).toEqual(["x", "z"]);
  });

  it("shows only the topmost lanes that are asked for", () => {
    const tree = treeOf(byId([...groupOf("g", 2), ...groupOf("h", 2)]), "01");
    expect(keys(rowsOf(tree, new Map(), new Set(["h"]), none))).toEqual(["h", "h-0", "h-1"]);
  });

  it("lays the pauses of ranks on their sums, once each", () => {
    const tree = treeOf(byId(groupOf("g", 3)), "01");
    const { pauses, paused } = pausesByLane([pause(["g-1", "g-2"]), pause(["g-0"], { end_ns: 5 })], tree);
    expect(pauses.get("g")).toHaveLength(2);
    expect([...paused]).toEqual(["g-1", "g-2"]);
  });
});

describe("layout", () => {
  const layout = place(rows(groupOf("g", 3)), (id) => (id === "g-1" ? 3 : id === "g-2" ? 9 : 1));

  it("grows a lane with its calls on top of each other, up to a limit", () => {
    const heights = layout.rows.map(({ height }) => height);
    expect(heights.slice(0, 2)).toEqual([ROW, ROW]);
    expect(heights[2]).toBe(ROW + 2 * 17);
    expect(heights[3]).toBe(ROW + 3 * 17);
    expect(layout.height).toBe(heights.reduce((a, b) => a + b));
  });

  it("keeps all bars of a lane within it, apart from each other", () => {
    for (const at of [2, 3]) {
      const placed = layout.rows[at];
      if (!placed) throw new Error("no row");
      let bottom = 0;
      for (let depth = 0; depth < placed.depth; depth++) {
        const bar = barOf(placed, depth);
        expect(bar.top).toBeGreaterThanOrEqual(bottom);
        expect(bar.height).toBeGreaterThanOrEqual(1);
        bottom = bar.top + bar.height;
      }
      expect(bottom).toBeLessThanOrEqual(placed.height - 2);
    }
  });

  it("finds rows by height", () => {
    expect(rowAt(layout.rows, -1)).toBe(-1);
    expect(rowAt(layout.rows, 0)).toBe(0);
    expect(rowAt(layout.rows, 2 * ROW)).toBe(2);
    expect(rowAt(layout.rows, 1e9)).toBe(3);
    expect(seen(layout, ROW + 1, ROW + 2)).toEqual([1, 2]);
    expect(seen({ rows: [], height: 0 }, 0, 100)).toEqual([0, 0]);
  });

  it("draws no curtain of steps", () => {
    const scale = { from: NOW_NS, per: 1e6, width: 1000 };
    const steps = (each: number) =>
      Array.from({ length: 90 }, (_, i) => timelineStep(i, { start_ns: NOW_NS + i * each }));
    expect(seenSteps(steps(100e6), scale)).toHaveLength(11);
    expect(seenSteps(steps(5e6), scale).map((step) => step.number)).toEqual([0, 9, 18, 27, 36, 45, 54, 63, 72, 81]);
  });

  it("maps times to pixels and back, on whole pixels of time", () => {
    const scale = scaleOf({ from: NOW_NS + 123_456_789, to: NOW_NS + 60_123_456_789 }, 1200, 1);
    expect(xOf(scale, timeOf(scale, 300))).toBeCloseTo(300, 3);
    expect(Math.abs(scale.from / scale.per - Math.round(scale.from / scale.per))).toBeLessThan(1e-3);
  });
});
