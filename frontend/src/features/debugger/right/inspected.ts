// What the probe says of an array, checked: it comes from the worker, and is drawn.
export type Cell = number | string | boolean | null;

export interface Statistics {
  facts: [name: string, value: string][];
  /** Fewer than all: time ran out. */
  seen: number;
  total: number;
  histogram: { low: string; high: string; bins: number[] } | null;
}

export interface HeatMap {
  shape: number[];
  index: number[];
  rows: [number, number];
  columns: [number, number];
  block: [number, number];
  cells: Cell[][];
  min: number | null;
  max: number | null;
}

export interface Table {
  shape: number[];
  index: number[];
  rows: [number, number];
  columns: [number, number];
  names: string[];
  dtypes: string[];
  labels: string[];
  cells: string[][];
}

type Raw = Record<string, unknown>;

const isRaw = (value: unknown): value is Raw => typeof value === "object" && value !== null && !Array.isArray(value);
const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const whole = (value: unknown): number => (typeof value === "number" && Number.isFinite(value) ? value : 0);
const pair = (value: unknown): [number, number] => [whole(list(value)[0]), whole(list(value)[1])];
const numbers = (value: unknown): number[] => list(value).map(whole);
const texts = (value: unknown): string[] => list(value).map((one) => String(one));
const scalar = (value: unknown): Cell =>
  typeof value === "number" || typeof value === "string" || typeof value === "boolean" ? value : null;

/** Five digits say enough; integers are said whole. */
export function figure(value: unknown): string {
  if (typeof value !== "number") return value === null || value === undefined ? "–" : String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return String(value);
  return Number(value.toPrecision(5)).toString();
}

const FACTS = ["count", "nan", "inf", "zeros", "min", "max", "mean", "std", "l2"];

export function asStatistics(body: unknown): Statistics | null {
  if (!isRaw(body) || !("count" in body)) return null;
  const { histogram } = body;
  const bins = isRaw(histogram) ? numbers(histogram.bins) : [];
  return {
    facts: FACTS.filter((name) => name in body).map((name) => [name, figure(body[name])]),
    seen: whole(body.seen),
    total: whole(body.total),
    histogram:
      isRaw(histogram) && bins.length > 0 ? { low: figure(histogram.low), high: figure(histogram.high), bins } : null,
  };
}

export function asHeatMap(body: unknown): HeatMap | null {
  if (!isRaw(body) || !Array.isArray(body.cells)) return null;
  return {
    shape: numbers(body.shape),
    index: numbers(body.index),
    rows: pair(body.rows),
    columns: pair(body.columns),
    block: pair(body.block),
    cells: body.cells.map((row) => list(row).map(scalar)),
    min: typeof body.min === "number" ? body.min : null,
    max: typeof body.max === "number" ? body.max : null,
  };
}

export function asTable(body: unknown): Table | null {
  if (!isRaw(body) || !Array.isArray(body.cells)) return null;
  return {
    shape: numbers(body.shape),
    index: numbers(body.index),
    rows: pair(body.rows),
    columns: pair(body.columns),
    names: texts(body.names),
    dtypes: texts(body.dtypes),
    labels: texts(body.labels),
    cells: body.cells.map(texts),
  };
}

export const noteOf = (body: unknown): string | null =>
  isRaw(body) && typeof body.note === "string" ? body.note : null;

export type Rgb = readonly [number, number, number];

/** Blue to white to red around zero where both signs are there, else pale to blue. What isn't a number: null. */
export function colourAt(value: Cell, min: number, max: number): Rgb | null {
  if (typeof value === "boolean") return colourAt(value ? 1 : 0, 0, 1);
  if (typeof value !== "number" || !Number.isFinite(value)) return null;
  if (min < 0 && max > 0) {
    const end = Math.max(-min, max);
    const part = Math.max(-1, Math.min(1, value / end));
    return part < 0 ? mix(MIDDLE, LOW, -part) : mix(MIDDLE, HIGH, part);
  }
  const part = max > min ? (value - min) / (max - min) : 0.5;
  return mix(MIDDLE, LOW, Math.max(0, Math.min(1, part)));
}

const LOW: Rgb = [11, 90, 176];
const MIDDLE: Rgb = [238, 240, 243];
const HIGH: Rgb = [190, 40, 50];
const mix = (a: Rgb, b: Rgb, part: number): Rgb => [
  Math.round(a[0] + (b[0] - a[0]) * part),
  Math.round(a[1] + (b[1] - a[1]) * part),
  Math.round(a[2] + (b[2] - a[2]) * part),
];
