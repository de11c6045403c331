import { describe, expect, it } from "vitest";
import { NOW_NS } from "../../../test/rows";
import { parseSearch, stringifySearch, validateSearch } from "../../ui/search";
import { MOST_PIXELS, serves, wantedFor } from "./fetching";
import { initialState } from "./state";
import { readSearch, sameSearch, writeSearch } from "./url";

const through = (over: Partial<ReturnType<typeof readSearch>>) => {
  const search = writeSearch({ ...initialState(), ...over });
  return readSearch(validateSearch(parseSearch(stringifySearch({ ...search }))));
};

describe("URL", () => {
  it("keeps window, lanes, selection and search", () => {
    const selected = { task_id: "ab".repeat(24), attempt: 3 };
    const folds = new Map([
      ["role:g/actor", true],
      ["odd,lane%2C/é", true],
      ["group:g", false],
    ]);
    const view = through({
      follow: false,
      from: NOW_NS,
      span: 60e9,
      folds,
      selected,
      q: "a & b",
      only: new Set(["x,y"]),
    });
    expect(view).toMatchObject({ follow: false, from: NOW_NS, span: 60e9, selected, q: "a & b" });
    expect([...view.folds]).toEqual([...folds]);
    expect([...(view.only ?? [])]).toEqual(["x,y"]);
  });

  it("is short where all is as by default, and follows live", () => {
    expect(Object.values(writeSearch(initialState())).filter(Boolean)).toEqual([]);
    expect(through({ span: 20e9 })).toMatchObject({ follow: true, span: 20e9 });
  });

  it("takes no nonsense", () => {
    const view = readSearch({ from: "x", to: "-1", span: "NaN", task: "../../x:1", lanes: ",," });
    expect(view).toMatchObject({ follow: true, span: initialState().span, selected: null });
    expect(view.folds.size).toBe(0);
    expect(readSearch({ from: "2", to: "1" }).follow).toBe(true);
    expect(sameSearch({ q: "" }, {})).toBe(true);
    expect(sameSearch({ from: "1" }, {})).toBe(false);
  });
});

describe("what is fetched", () => {
  const window = { from: NOW_NS, to: NOW_NS + 300e9 };

  it("is wider than the window and serves while one pans or zooms a little", () => {
    const wanted = wantedFor(window, 1160, 1, false);
    expect(wanted.from).toBeLessThanOrEqual(window.from - 300e9);
    expect(wanted.to).toBeGreaterThanOrEqual(window.to + 300e9);
    expect(wanted.pixels).toBeLessThanOrEqual(MOST_PIXELS);
    for (const by of [-290e9, -1e9, 1e9, 290e9])
      expect(serves(wanted, { from: window.from + by, to: window.to + by }, 1160, 1)).toBe(true);
    expect(serves(wanted, { from: window.from, to: window.to - 1e9 }, 1160, 1)).toBe(true);
    expect(serves(wanted, { from: window.from + 400e9, to: window.to + 400e9 }, 1160, 1)).toBe(false);
    expect(serves(wanted, { from: window.from, to: window.from + 30e9 }, 1160, 1)).toBe(false);
  });

  it("lies on a grid: moved a little it is the same", () => {
    const moved = { from: window.from + 1e6, to: window.to + 1e6 };
    const [a, b] = [wantedFor(window, 1160, 1, false), wantedFor(moved, 1160, 1, false)];
    expect((b.from - a.from) / ((a.to - a.from) / a.pixels)).toBeLessThan(257);
    expect(Number.isInteger(a.from) && Number.isInteger(a.to)).toBe(true);
  });

  it("never asks for more pixels than the hub gives, on any screen", () => {
    for (const width of [300, 1160, 2400, 3800])
      for (const ratio of [1, 2, 3])
        for (const span of [1e6, 1e9, 300e9, 86_400e9]) {
          const view = { from: NOW_NS, to: NOW_NS + span };
          const wanted = wantedFor(view, width, ratio, false);
          expect(wanted.pixels).toBeLessThanOrEqual(MOST_PIXELS);
          expect(serves(wanted, view, width, ratio)).toBe(true);
        }
  });
});
