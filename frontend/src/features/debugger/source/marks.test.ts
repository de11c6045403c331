import { describe, expect, it } from "vitest";
import { breakpoint } from "../../../../test/debug";
import { PATHS } from "../left/BreakpointShape";
import { Mark } from "./marks";

describe("marks in the gutter", () => {
  const problem = "The condition isn't valid: <b>invalid syntax</b>";
  const wrong = breakpoint(3, { condition: "i ===", verified: false, message: problem });

  it("of what can't hit are hollow, and say why as text", () => {
    const box = new Mark(wrong, null).toDOM();
    expect(box.dataset).toMatchObject({ shape: "conditional", hollow: "" });
    expect(box.title).toBe(problem);
    expect(box.querySelector("b")).toBeNull();
    expect(box.querySelector("path")?.getAttribute("fill")).toBe("none");
    // A ring, nothing in it: a condition's bars would look like a filled core.
    expect(box.querySelector("path")?.getAttribute("d")).toBe(PATHS.dot);
  });

  it("of what can are filled and say nothing", () => {
    const box = new Mark(breakpoint(3), "current").toDOM();
    expect(box.dataset.hollow).toBeUndefined();
    expect(box.title).toBe("");
    expect(box.querySelectorAll("path")).toHaveLength(2);
  });

  it("of what is off are pale, not hollow", () => {
    const box = new Mark({ ...wrong, enabled: false }, null).toDOM();
    expect(box.dataset.hollow).toBeUndefined();
    expect(box.title).toBe("");
    expect(box.querySelector("path")?.getAttribute("opacity")).toBe("0.45");
  });

  it("are drawn anew when the reason changes", () => {
    const mark = new Mark(wrong, null);
    expect(mark.eq(new Mark({ ...wrong, hits: 5 }, null))).toBe(true);
    expect(mark.eq(new Mark({ ...wrong, message: "other" }, null))).toBe(false);
    expect(mark.eq(new Mark({ ...wrong, verified: true }, null))).toBe(false);
    expect(mark.eq(new Mark(wrong, "current"))).toBe(false);
    expect(mark.eq(new Mark(undefined, null))).toBe(false);
  });
});
