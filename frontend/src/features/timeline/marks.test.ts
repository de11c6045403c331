import { describe, expect, it } from "vitest";
import { NOW_NS } from "../../../test/rows";
import { marks, taskId } from "../../../test/timeline";
import { FAILED, merge, names, sinceOf, taskIdAt } from "./marks";

const frame = { jobId: "01", from: NOW_NS, to: NOW_NS + 1e9, pixels: 100 };

describe("marks", () => {
  it("decodes columns that lie at any offset, lane by lane", () => {
    const answer = marks(
      [
        { lane: "a", start: 1, end: 2, id: 7 },
        { lane: "a", name: "reset", start: 3, state: 1, depth: 2 },
        { lane: "b", start: 5, end: 6, state: FAILED },
      ],
      [{ lane: "c", index: 9, count: 4, states: 12 }],
    );
    const { lanes } = merge(null, frame, ["a", "b", "c", "d"], answer);
    const a = lanes.get("a");
    expect(a).toMatchObject({ tasks: 2, depth: 3, base: NOW_NS, bins: null });
    expect([...(a?.slices?.start ?? [])]).toEqual([1e6, 3e6]);
    expect(Number.isNaN(a?.slices?.end[1])).toBe(true);
    expect(names.list[a?.slices?.name[1] ?? -1]).toBe("reset");
    expect(a?.slices && taskIdAt(a.slices, 0)).toBe(taskId(7));
    expect([...(lanes.get("b")?.slices?.state ?? [])]).toEqual([FAILED]);
    expect(lanes.get("c")?.bins).toMatchObject({ length: 1 });
    expect([...(lanes.get("c")?.bins?.index ?? [])]).toEqual([9]);
    expect(lanes.get("d")).toMatchObject({ tasks: 0, slices: null, bins: null });
  });

  it("keeps lanes that an answer with `since` leaves out, as of its version", () => {
    const asked = ["a", "b"];
    const first = merge(
      null,
      frame,
      asked,
      marks(
        [
          { lane: "a", start: 1 },
          { lane: "b", start: 2 },
        ],
        [],
        { version: 5 },
      ),
    );
    expect(sinceOf(first, frame, asked)).toBe(5);
    expect(sinceOf(first, frame, ["a", "new"])).toBe(0);
    const base = NOW_NS + 77;
    const next = merge(first, frame, asked, marks([{ lane: "b", start: 3 }], [], { version: 8, base_ns: base }));
    expect([...(next.lanes.get("a")?.slices?.start ?? [])]).toEqual([1e6]);
    expect(next.lanes.get("a")).toMatchObject({ version: 8, base: NOW_NS });
    expect(next.lanes.get("b")).toMatchObject({ version: 8, base });
  });

  it("asks from the oldest of the lanes that are wanted, and forgets another window's", () => {
    const held = merge(null, frame, ["a"], marks([{ lane: "a", start: 1 }], [], { version: 5 }));
    const both = merge(held, frame, ["b"], marks([{ lane: "b", start: 1 }], [], { version: 9 }));
    expect(sinceOf(both, frame, ["a", "b"])).toBe(5);
    const other = { ...frame, pixels: 50 };
    expect(sinceOf(both, other, ["a"])).toBe(0);
    expect(merge(both, other, ["b"], marks([], [], { version: 10 })).lanes.has("a")).toBe(false);
  });
});
