import { beforeEach, describe, expect, it, vi } from "vitest";
import { keepHeight, keyed, LEAST, mostOf, setHeight, useHeight, within } from "./height";

beforeEach(() => {
  localStorage.clear();
  setHeight(null);
});

const fresh = async () => {
  vi.resetModules();
  return (await import("./height")).useHeight.getState().wanted;
};

describe("the console's height", () => {
  it("leaves room for the source, and for a line of the console", () => {
    expect(mostOf(800)).toBe(640);
    expect(mostOf(100)).toBe(LEAST);
    expect(within(5000, 640)).toBe(640);
    expect(within(-3, 640)).toBe(LEAST);
    expect(within(200.4, 640)).toBe(200);
  });

  it("is moved by keys", () => {
    expect(keyed("ArrowUp", 200, 640)).toBe(220);
    expect(keyed("ArrowDown", 200, 640)).toBe(180);
    expect(keyed("ArrowDown", 100, 640)).toBe(LEAST);
    expect(keyed("PageUp", 600, 640)).toBe(640);
    expect(keyed("Home", 300, 640)).toBe(LEAST);
    expect(keyed("End", 300, 640)).toBe(640);
    expect(keyed("Enter", 300, 640)).toBeNull();
  });

  it("is kept in the browser", async () => {
    setHeight(321);
    keepHeight();
    expect(await fresh()).toBe(321);
    setHeight(null);
    keepHeight();
    expect(await fresh()).toBeNull();
    expect(useHeight.getState().wanted).toBeNull();
  });

  it("takes nothing odd from there", async () => {
    for (const odd of ["", "x", "-5", "1e999", "0", "NaN"]) {
      localStorage.setItem("raydebug.console.height", odd);
      expect(await fresh()).toBeNull();
    }
    localStorage.setItem("raydebug.console.height", "99999999");
    expect(await fresh()).toBe(10_000);
  });
});
