// Where things lie: rows from top to bottom, moments from left to right. All in CSS pixels.
import type { Step } from "../../api/types.gen";
import type { Row } from "./lanes";

export const ROW = 21;
export const LABELS = 208;
/** A bar within its row. */
export const BAR = { top: 2, height: 16 };
const SUB_ROW = 17;
const MOST_SUB_ROWS = 4;

export interface Placed {
  row: Row;
  y: number;
  height: number;
  /** How many bars lie on top of each other. */
  depth: number;
}

export interface Layout {
  rows: Placed[];
  height: number;
}

/** A lane with calls on top of each other grows, up to a limit; from there on its bars get thinner. Sums don't grow. */
export function heightOf(row: Row, depth: number): number {
  if (row.kind === "rest" || row.fold !== null) return ROW;
  return ROW + (Math.min(depth, MOST_SUB_ROWS) - 1) * SUB_ROW;
}

export function place(rows: readonly Row[], depthOf: (laneId: string) => number): Layout {
  let y = 0;
  const placed = rows.map((row) => {
    const depth = row.kind === "lane" ? depthOf(row.key) : 1;
    const at: Placed = { row, y, height: heightOf(row, depth), depth };
    y += at.height;
    return at;
  });
  return { rows: placed, height: y };
}

/** Index of the row at a height; -1 above the first, the last one below it. */
export function rowAt(rows: readonly Placed[], y: number): number {
  let low = 0;
  let high = rows.length - 1;
  if (y < 0) return -1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((rows[middle] as Placed).y <= y) low = middle;
    else high = middle - 1;
  }
  return rows.length === 0 ? -1 : low;
}

/** First and last (excluded) row that is seen. */
export function seen({ rows }: Layout, top: number, bottom: number): [number, number] {
  if (rows.length === 0) return [0, 0];
  const last = rowAt(rows, bottom);
  return [Math.max(0, rowAt(rows, Math.max(0, top))), last + 1];
}

/** A bar of a row: the whole of a leaf's, a thinner band for a sum, one of several on top of each other. */
export function barOf({ row, height, depth }: Placed, at = 0): { top: number; height: number } {
  if (row.kind === "rest") return { top: 9, height: 3 };
  const open = row.fold === "open" || row.fold === "some";
  const top = row.fold === null ? BAR.top : open ? 5 : 3;
  const all = row.fold === null ? height - (ROW - BAR.height) : open ? 10 : 14;
  if (depth <= 1) return { top, height: all };
  const step = (all + 1) / depth;
  const y = Math.min(at, depth - 1) * step;
  return { top: top + Math.round(y), height: Math.max(1, Math.round(y + step) - Math.round(y) - (step >= 4 ? 1 : 0)) };
}

/** Moments to pixels. `from` lies on a whole pixel of time, so that what is drawn moves by whole pixels, unchanged. */
export interface Scale {
  from: number;
  /** ns a pixel. */
  per: number;
  width: number;
}

export function scaleOf(window: { from: number; to: number }, width: number, ratio: number): Scale {
  const per = (window.to - window.from) / Math.max(1, width);
  const grid = per / ratio;
  return { from: Math.round(window.from / grid) * grid, per, width };
}

export const xOf = (scale: Scale, ns: number): number => (ns - scale.from) / scale.per;
export const timeOf = (scale: Scale, x: number): number => scale.from + x * scale.per;

/** Steps nearer to each other than this would be a curtain of lines: then only some of them are drawn. */
const STEP_ROOM = 44;

/** The steps, sorted by time, whose beginnings are drawn. */
export function seenSteps(steps: readonly Step[], scale: Scale): Step[] {
  let last = Number.NEGATIVE_INFINITY;
  return steps.filter((step) => {
    const x = xOf(scale, step.start_ns);
    if (x < -STEP_ROOM || x > scale.width || x - last < STEP_ROOM) return false;
    last = x;
    return true;
  });
}
