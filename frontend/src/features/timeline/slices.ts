// Draws exact slices and pauses on a lane.
import type { Pause } from "../../api/types.gen";
import type { Brush } from "./brush";
import type { Picture } from "./draw";
import { ongoing } from "./hit";
import { barOf, type Placed, xOf } from "./layout";
import { FAILED, type LaneData, names, PAUSED, PENDING, type SliceColumns } from "./marks";
import type { Columns } from "./raster";

/** So many slices to a pixel of the lane's width make it a raster. */
const DENSE = 0.2;
/** Bars lower than this have no text, lower than the other no point or cross. */
const TEXT_FITS = 10;
const SHAPE_FITS = 6;
const LEAST_RUN = 40;

export function drawSlices(
  b: Brush,
  p: Picture,
  placed: Placed,
  y: number,
  blank: Uint32Array,
  data: LaneData,
  s: SliceColumns,
): void {
  const { scale } = p;
  if (placed.depth === 1 && countSeen(s, data.base, p) > scale.width * DENSE) {
    const columns = b.fresh(scale);
    columns.addSlices(data, s, scale.from, scale.per / b.ratio, p.now);
    const { top, height } = barOf(placed);
    b.raster(columns, y + top, height, blank);
    return;
  }
  // What waits lies below what runs (many calls wait on a rank while one runs), and nothing covers what failed.
  const lane = new LaneOfSlices(b, p, placed, y, data, s);
  let failed = false;
  for (let i = 0; i < s.length; i++) lane.drawWaiting(i);
  for (let i = 0; i < s.length; i++) {
    if (s.state[i] === FAILED) failed = true;
    else if (s.state[i] !== PENDING) lane.drawRan(i);
  }
  if (failed) for (let i = 0; i < s.length; i++) if (s.state[i] === FAILED) lane.drawRan(i);
  if (placed.depth > 1 && isFolded(placed)) {
    const columns = b.fresh(scale);
    columns.addSlices(data, s, scale.from, scale.per / b.ratio, p.now, 255 / placed.depth);
    labelRuns(b, p, columns, placed, y);
  }
}

/** A sum whose lanes aren't shown: it stands for them, and has the names that they would have. */
export const isFolded = ({ row }: Placed): boolean => row.kind === "lane" && row.fold === "closed";

/** Names the stretches of a sum in which all do the same. */
export function labelRuns(b: Brush, p: Picture, columns: Columns, placed: Placed, y: number): void {
  const { top, height } = barOf({ ...placed, depth: 1 });
  for (const { from, to, name } of columns.runs(Math.round(LEAST_RUN * b.ratio))) {
    const left = from / b.ratio + 5;
    const until = p.pauses.has(placed.row.key) ? Math.min(to / b.ratio, pausedFrom(p, placed.row.key)) : to / b.ratio;
    b.label(names.list[name] ?? "", left, y + top + height / 2, until - left - 3, b.palette.nameStyle(name).ink);
  }
}

class LaneOfSlices {
  private readonly shift: number;
  private readonly xNow: number;
  private readonly right: number;
  private readonly sum: boolean;
  private readonly label: string;
  /** Where what is paused begins: texts end there. */
  private readonly pausedAt: number;
  private readonly pauseKnown: boolean;

  constructor(
    private readonly b: Brush,
    private readonly p: Picture,
    private readonly placed: Placed,
    private readonly y: number,
    data: LaneData,
    private readonly s: SliceColumns,
  ) {
    const { scale, now } = p;
    const { row } = placed;
    this.shift = (data.base - scale.from) / scale.per;
    this.xNow = xOf(scale, now);
    this.right = scale.width + 2;
    this.sum = row.kind === "lane" && row.fold !== null;
    this.label = row.kind === "lane" ? row.lane.label : "";
    this.pauseKnown = p.pauses.has(row.key);
    this.pausedAt = pausedFrom(p, row.key);
  }

  /** From its submission until it began; outlined where it hasn't yet. */
  drawWaiting(i: number): void {
    const { s, b, p, right, xNow } = this;
    const submit = s.submit[i] as number;
    if (Number.isNaN(submit)) return;
    const { per } = p.scale;
    const waits = s.state[i] === PENDING;
    const start = s.start[i] as number;
    const until = Number.isNaN(start) ? (waits ? Number.NaN : (s.end[i] as number)) : start;
    const x0 = Math.max(-2, this.shift + submit / per);
    const x1 = Math.min(right, xNow, Number.isNaN(until) ? xNow : this.shift + until / per);
    if (x0 > right || x1 < -2 || x1 - x0 < (waits ? 0 : 1)) return;
    const style = b.palette.nameStyle(s.name[i] as number);
    const bar = barOf(this.placed, s.depth[i]);
    const [top, { height }] = [this.y + bar.top, bar];
    const width = Math.max(waits ? 3 : 1, x1 - x0);
    b.rect(x0, top, width, height, style.pale.css);
    if (!waits || height < SHAPE_FITS) return;
    const { ctx } = b;
    ctx.strokeStyle = style.fill.css;
    ctx.lineWidth = 1;
    ctx.setLineDash([3, 2]);
    ctx.strokeRect(x0 + 0.5, top + 0.5, width - 1, height - 1);
    ctx.setLineDash([]);
    const left = Math.max(0, x0) + 5;
    if (!this.sum && height >= TEXT_FITS)
      b.label(names.list[s.name[i] as number] ?? "", left, top + height / 2, x1 - left - 3, b.palette.fg2);
  }

  drawRan(i: number): void {
    const { s, b, p, right, xNow, shift } = this;
    const { palette } = b;
    const { per } = p.scale;
    const state = s.state[i] as number;
    const [start, end] = [s.start[i] as number, s.end[i] as number];
    const open = ongoing(state);
    const x0 = shift + (Number.isNaN(start) ? end : start) / per;
    const x1 = Number.isNaN(end) ? (open ? xNow : x0) : Math.min(xNow, shift + end / per);
    if (!(x0 <= right) || x1 < -2 || x0 > xNow) return;
    const failed = state === FAILED;
    const style = palette.nameStyle(s.name[i] as number);
    const name = names.list[s.name[i] as number] ?? "";
    const bar = barOf(this.placed, s.depth[i]);
    const [top, { height }] = [this.y + bar.top, bar];
    // Whole pixels: a bar must not shimmer while the window moves. One pixel stays free before the next.
    const a = Math.max(-2, Math.round(x0));
    const width = Math.max(failed ? 3 : 1, Math.min(right, Math.round(x1)) - a - (open ? 0 : 1));
    const striped = state === PAUSED && !this.pauseKnown;
    const fill = failed ? palette.fail.css : striped ? palette.pause.css : style.fill.css;
    const dim = p.match !== null && !p.match(name, this.label);
    if (dim && !failed) b.ctx.globalAlpha = 0.25;
    b.rect(a, top, width, height, striped ? b.hatch : fill);
    if (open && !striped) this.supposed(a, width, top, height, style.pale.css);
    const tip = open && !striped && p.freshUntil < p.now ? style.pale.css : fill;
    if (open && x1 <= right && height >= SHAPE_FITS && width > 3) b.point(a + width, top, height, tip);
    if (failed) this.markFailed(a, width, top, height, Math.round(x1));
    const inset = failed ? 14 : 5;
    const left = Math.max(0, a) + inset;
    const room = Math.min(a + width, this.pausedAt) - left - 3;
    if (height >= TEXT_FITS && room > 12 && !(this.sum && height < 12))
      b.label(
        name,
        left,
        top + height / 2,
        room,
        failed ? palette.failInk : striped ? palette.pauseInk : style.ink,
        failed,
      );
    b.ctx.globalAlpha = 1;
  }

  /** What ran when there was last news of it is only supposed to run since: paler. */
  private supposed(x: number, width: number, top: number, height: number, fill: string): void {
    const { scale, freshUntil, now } = this.p;
    if (freshUntil >= now) return;
    const from = Math.max(x, Math.round(xOf(scale, freshUntil)));
    if (from < x + width) this.b.rect(from, top, x + width - from, height, fill);
  }

  /** A cross in it; where there is no room, a stroke that reaches over the bar. */
  private markFailed(x: number, width: number, top: number, height: number, end: number): void {
    const { b, placed, y } = this;
    if (width >= 13 && height >= TEXT_FITS) {
      b.glyph("failed", Math.max(0, x) + 3, top + height / 2 - 4, 8, b.palette.failInk);
      return;
    }
    if (this.sum) {
      const all = barOf({ ...placed, depth: 1 });
      b.rect(Math.max(x, end - 3), y + all.top - 2, 3, all.height + 4, b.palette.fail.css);
    } else b.rect(x, top - 2, Math.max(3, Math.min(width, 4)), height + 4, b.palette.fail.css);
  }
}

/** Where what is paused on a lane now begins, x. */
function pausedFrom({ pauses, scale }: Picture, laneId: string): number {
  const going = (pauses.get(laneId) ?? []).filter((pause) => pause.end_ns === null);
  return going.reduce((x, pause) => Math.min(x, xOf(scale, pause.start_ns)), Number.POSITIVE_INFINITY);
}

/** Stripes from when it was seen to stand still until it went on; on a sum a thin band of them. */
export function drawPauses(b: Brush, p: Picture, placed: Placed, y: number): void {
  const all = p.pauses.get(placed.row.key);
  if (!all || placed.row.kind !== "lane") return;
  if (placed.row.fold === null) {
    for (const pause of all) drawPause(b, p, placed, y, pause);
    return;
  }
  // On a sum many lie on each other: once is enough.
  let painted = Number.NEGATIVE_INFINITY;
  for (const pause of [...all].sort((one, other) => one.start_ns - other.start_ns)) {
    const [x0, x1] = edges(p, pause);
    const from = Math.max(x0, painted, -2);
    const to = Math.min(x1, p.scale.width + 2);
    if (to <= from) continue;
    b.rect(from, y + barOf(placed).top, Math.max(3, to - from), 4, b.hatch);
    painted = to;
  }
}

const edges = ({ scale, now }: Picture, pause: Pause): [number, number] => [
  Math.round(xOf(scale, pause.start_ns)),
  Math.round(xOf(scale, Math.min(now, pause.end_ns ?? now))),
];

function drawPause(b: Brush, p: Picture, placed: Placed, y: number, pause: Pause): void {
  const { scale, now } = p;
  const [x0, x1] = edges(p, pause);
  if (x0 > scale.width || x1 < 0 || pause.start_ns > now) return;
  const a = Math.max(-2, x0);
  const width = Math.max(3, Math.min(scale.width + 2, x1) - a);
  const { top, height } = barOf({ ...placed, depth: 1 });
  b.rect(a, y + top, width, height, b.hatch);
  if (pause.end_ns === null && x1 <= scale.width) b.point(a + width, y + top, height, b.palette.pause.css);
  if (width < 13) return;
  const left = Math.max(0, a) + 4;
  const text = p.pauseText(pause, Math.min(now, pause.end_ns ?? now));
  b.glyph("paused", left, y + top + height / 2 - 4.5, 9, b.palette.pauseInk);
  b.label(text, left + 13, y + top + height / 2, a + width - left - 16, b.palette.pauseInk, true);
}

function countSeen(s: SliceColumns, base: number, { scale, now }: Picture): number {
  const from = scale.from - base;
  const to = from + scale.width * scale.per;
  let count = 0;
  for (let i = 0; i < s.length; i++) {
    const end = s.end[i] as number;
    if ((s.start[i] as number) < to && (Number.isNaN(end) ? now - base : end) > from) count++;
  }
  return count;
}
