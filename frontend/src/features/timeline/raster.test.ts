// @vitest-environment node
import { describe, expect, it } from "vitest";
import { NOW_NS } from "../../../test/rows";
import { type BinIn, marks, type SliceIn } from "../../../test/timeline";
import { FAILED, merge, PAUSED, PENDING, RUNNING } from "./marks";
import { makePalette, pixel } from "./palette";
import { PHASES, phaseOf } from "./phases";
import { Columns, paintColumns } from "./raster";

const frame = { jobId: "01", from: NOW_NS, to: NOW_NS + 1e9, pixels: 100 };
const palette = makePalette(
  (name) =>
    ({ "--surface": "#fff", "--fail": "#c25100", "--pause": "#cf2540", "--pause-2": "#e2677a", "--p-ink": "#000" })[
      name
    ] ?? "#4080c0",
);
const held = (slices: SliceIn[], bins: BinIn[] = []) => merge(null, frame, ["a"], marks(slices, bins)).lanes.get("a");
const MS = 1e6;
const BIN = 10 * MS;

function columns(width: number, per: number, bins: BinIn[], from = NOW_NS, ignore = 0): Columns {
  const out = new Columns(width);
  const data = held([], bins);
  if (data?.bins) out.addBins(data.bins, frame, from, per, NOW_NS + 1e12, ignore);
  return out;
}

describe("columns", () => {
  it("has a pixel a bin where they are alike", () => {
    const { states } = columns(100, BIN, [
      { lane: "a", index: 3 },
      { lane: "a", index: 99 },
    ]);
    expect([...states.keys()].filter((x) => states[x])).toEqual([3, 99]);
  });

  it("loses no bin where several fall on a pixel, whatever the offset", () => {
    for (const shift of [0, 3, 7, 12.5])
      for (const per of [10, 13, 17.3, 40]) {
        const bins = [20, 21, 22, 23, 24, 25].map((index) => ({
          lane: "a",
          index,
          states: index === 23 ? 1 << FAILED : 4,
        }));
        const { states } = columns(100, per * MS, bins, NOW_NS + shift * MS);
        expect([...states].reduce((all, one) => all | one, 0)).toBe((1 << FAILED) | 4);
      }
  });

  it("fills whole stretches where a bin is wider than a pixel", () => {
    const { states } = columns(100, 2.5 * MS, [
      { lane: "a", index: 1 },
      { lane: "a", index: 2 },
    ]);
    expect([...states.keys()].filter((x) => states[x])).toEqual([4, 5, 6, 7, 8, 9, 10, 11]);
  });

  it("shows the name that takes most of the time, and moves by whole pixels unchanged", () => {
    const bins = [
      { lane: "a", index: 40, name: "short", busy: 20 },
      { lane: "a", index: 41, name: "long", busy: 250 },
    ];
    const a = columns(100, 20 * MS, bins);
    const b = columns(100, 20 * MS, bins, NOW_NS + 100 * MS);
    expect(a.name[20]).toBe(b.name[15]);
    expect(a.busy[20]).toBe(250);
  });

  it("finds the stretches in which all do the same", () => {
    const bins = [10, 11, 12, 13, 14, 15, 16, 30, 31].map((index) => ({
      lane: "a",
      index,
      name: index < 14 ? "x" : "y",
    }));
    const runs = columns(100, BIN, [...bins, { lane: "a", index: 50, states: 1 << PENDING }]).runs(3);
    expect(runs.map(({ from, to }) => [from, to])).toEqual([
      [10, 14],
      [14, 17],
    ]);
  });

  it("names a sum only where most of its lanes do the same", () => {
    const out = new Columns(100);
    const many = (lanes: number, start: number) =>
      Array.from({ length: lanes }, (_, depth) => ({ lane: "a", name: "x", start, end: start + 200, depth }));
    const data = held([...many(4, 100), ...many(1, 500)]);
    if (data?.slices) out.addSlices(data, data.slices, NOW_NS, BIN, NOW_NS + 1e9, 255 / 4);
    expect(out.runs(5).map(({ from, to }) => [from, to])).toEqual([[10, 30]]);
  });

  it("draws nothing that began after the moment that is shown", () => {
    const out = new Columns(100);
    const data = held(
      [],
      [
        { lane: "a", index: 10 },
        { lane: "a", index: 50 },
      ],
    );
    if (data?.bins) out.addBins(data.bins, frame, NOW_NS, BIN, NOW_NS + 300 * MS);
    expect(out.states[10]).not.toBe(0);
    expect(out.states[50]).toBe(0);
  });

  it("takes slices too: what runs reaches now, what is short has a pixel", () => {
    const out = new Columns(100);
    const slices = [
      { lane: "a", start: 101, end: 102 },
      { lane: "a", start: 300, state: RUNNING },
      { lane: "a", submit: 700, state: PENDING },
      { lane: "a", start: 800.5, end: 800.6, state: FAILED },
    ];
    const data = held(slices);
    if (data?.slices) out.addSlices(data, data.slices, NOW_NS, BIN, NOW_NS + 500 * MS);
    expect(out.states[10]).toBe(1 << 2);
    expect(out.states[11]).toBe(0);
    expect(out.states[49]).toBe(1 << RUNNING);
    expect(out.states[51]).toBe(0);
    expect(out.states[80]).toBe(1 << FAILED);
  });
});

describe("paint", () => {
  const [width, height] = [40, 20];
  const paint = (bins: BinIn[], ignore = 0) => {
    const out = new Uint32Array(width * height);
    const blank = new Uint32Array(width).fill(0xff111111);
    paintColumns(out, height, columns(width, BIN, bins, NOW_NS, ignore), blank, palette, 1);
    return (x: number, y: number) => out[y * width + x];
  };

  it("is blank where nothing is, above and below the bar", () => {
    const at = paint([{ lane: "a", index: 5 }]);
    expect([at(4, 10), at(5, 0), at(5, 19)]).toEqual([0xff111111, 0xff111111, 0xff111111]);
    expect(at(5, 10)).toBe(pixel(palette.nameStyle(0).fill));
  });

  it("shows a failure three pixels wide, over the bar's edge", () => {
    const at = paint([{ lane: "a", index: 5, states: 4 | (1 << FAILED) }]);
    const fail = pixel(palette.fail);
    for (const x of [4, 5, 6]) for (const y of [0, 10, 19]) expect(at(x, y)).toBe(fail);
    expect(at(7, 10)).toBe(0xff111111);
  });

  it("is paler where less is busy, palest where all waits", () => {
    const red = (p: number | undefined) => (p ?? 0) & 255;
    const at = paint([
      { lane: "a", index: 1, busy: 255 },
      { lane: "a", index: 2, busy: 60 },
      { lane: "a", index: 3, busy: 255, states: 1 << PENDING },
    ]);
    expect(red(at(1, 10))).toBeLessThan(red(at(2, 10)));
    expect(red(at(2, 10))).toBeLessThan(red(at(3, 10)));
  });

  it("stripes what is paused, but where a row of pauses says it better", () => {
    const bins = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map((index) => ({ lane: "a", index, states: 1 << PAUSED }));
    const at = paint(bins);
    const seen = new Set(bins.map(({ index }) => at(index, 10)));
    expect(seen).toEqual(new Set([pixel(palette.pause), pixel(palette.pause2)]));
    expect(paint(bins, 1 << PAUSED)(5, 10)).toBe(pixel(palette.nameStyle(0).fill));
  });
});

describe("phases", () => {
  it("knows verl's methods by their names", () => {
    const of = Object.fromEntries(
      [
        "generate_sequences",
        "compute_log_prob",
        "compute_ref_log_prob",
        "compute_values",
        "update_critic",
        "update_actor",
        "compute_rm_score",
        "save_checkpoint",
        "train.py",
      ].map((name) => [name, phaseOf(name)]),
    );
    expect(of).toEqual({
      generate_sequences: "rollout",
      compute_log_prob: "log_prob",
      compute_ref_log_prob: "ref",
      compute_values: "values",
      update_critic: "update_critic",
      update_actor: "update_actor",
      compute_rm_score: "reward",
      save_checkpoint: "other",
      "train.py": "other",
    });
  });

  it("gives any other name one hue, always the same", () => {
    for (const name of ["tokenize", "step", "日本", "", "__proto__", "constructor"]) {
      expect(PHASES).toContain(phaseOf(name));
      expect(phaseOf(name)).toBe(phaseOf(name));
    }
  });
});
