// Draws the lanes that are seen. Each state has a shape of its own: pending is pale (and outlined while it waits), running
// ends in an arrow, failed is solid with a cross, paused is striped with two bars.
import type { Pause, Step } from "../../api/types.gen";
import type { Brush } from "./brush";
import { ongoing } from "./hit";
import { barOf, type Placed, type Scale, xOf } from "./layout";
import {
  FAILED,
  FINISHED,
  type Held,
  type LaneData,
  names,
  PAUSED,
  PENDING,
  RUNNING,
  type SliceColumns,
  taskIdAt,
} from "./marks";
import type { Tick } from "./ruler";
import type { TaskRef } from "./state";

export interface Picture {
  rows: readonly Placed[];
  first: number;
  last: number;
  scrollTop: number;
  height: number;
  scale: Scale;
  held: Held | null;
  now: number;
  /** What lies before it isn't held. */
  heldFrom: number | null;
  /** What is known is this old: what runs is only supposed to run on from there. */
  freshUntil: number;
  ticks: readonly Tick[];
  steps: readonly Step[];
  pauses: ReadonlyMap<string, readonly Pause[]>;
  /** Text beside what is paused. */
  pauseText: (pause: Pause, end: number) => string;
  selected: TaskRef | null;
  hovered: TaskRef | null;
  lane: string | null;
  /** Whether a name or lane is searched for; null: nothing is. */
  match: ((name: string, laneLabel: string) => boolean) | null;
}

/** So many slices to a pixel of the lane's width make it a raster. */
const DENSE = 0.2;

export function drawLanes(b: Brush, p: Picture): void {
  const { ctx, palette, ratio } = b;
  const { scale, scrollTop, height } = p;
  const { width } = scale;
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  b.rect(0, 0, width, height, palette.surface.css);
  const lines = p.ticks.map((tick) => Math.round(xOf(scale, tick.ns) * ratio));
  const seen = p.rows.slice(p.first, p.last);
  for (const placed of seen) {
    const y = placed.y - scrollTop;
    if (isSum(placed)) b.rect(0, y, width, placed.height, palette.surface2.css);
  }
  const thick = Math.max(1, Math.round(ratio)) / ratio;
  for (const x of lines) b.rect(x / ratio, 0, thick, height, palette.line.css);
  const blanks = { surface: b.blank(scale, "surface", lines), surface2: b.blank(scale, "surface2", lines) };
  for (const placed of seen) {
    const y = placed.y - scrollTop;
    drawRow(b, p, placed, y, isSum(placed) ? blanks.surface2 : blanks.surface);
    b.rect(0, y + placed.height - 1, width, 1, palette.line.css);
  }
  shade(b, p);
  drawSteps(b, p);
  drawSelected(b, p, seen);
  const x = xOf(scale, p.now);
  if (x >= 0 && x <= width) b.rect(Math.round(x) - 0.75, 0, 1.5, height, palette.ok);
}

const isSum = ({ row }: Placed) => row.kind === "lane" && (row.fold === "open" || row.fold === "some");

function drawRow(b: Brush, p: Picture, placed: Placed, y: number, blank: Uint32Array): void {
  if (placed.row.kind === "rest") return;
  const { key } = placed.row;
  if (p.lane === key) {
    b.ctx.globalAlpha = 0.5;
    b.rect(0, y, p.scale.width, placed.height - 1, b.palette.sunken.css);
    b.ctx.globalAlpha = 1;
  }
  const data = p.held?.lanes.get(key);
  if (data && p.held) {
    if (data.bins) drawBins(b, p, p.held, placed, y, blank, data);
    else if (data.slices) drawSlices(b, p, placed, y, blank, data, data.slices);
  }
  for (const pause of p.pauses.get(key) ?? []) drawPause(b, p, placed, y, pause);
}

function drawBins(
  b: Brush,
  p: Picture,
  held: Held,
  placed: Placed,
  y: number,
  blank: Uint32Array,
  data: LaneData,
): void {
  if (!data.bins || placed.row.kind !== "lane") return;
  const { scale } = p;
  const columns = b.fresh(scale);
  const label = placed.row.lane.label;
  const keep = p.match ? (name: number) => p.match?.(names.list[name] ?? "", label) ?? true : undefined;
  columns.addBins(data.bins, held, scale.from, scale.per / b.ratio, p.now, keep);
  const { top, height } = barOf({ ...placed, depth: 1 });
  b.raster(columns, y + top, height, blank);
}

function drawSlices(
  b: Brush,
  p: Picture,
  placed: Placed,
  y: number,
  blank: Uint32Array,
  data: LaneData,
  s: SliceColumns,
): void {
  if (placed.row.kind !== "lane") return;
  const { scale, now } = p;
  if (placed.depth === 1 && countSeen(s, data.base, p) > scale.width * DENSE) {
    const columns = b.fresh(scale);
    columns.addSlices(data, s, scale.from, scale.per / b.ratio, now);
    const { top, height } = barOf(placed);
    b.raster(columns, y + top, height, blank);
    return;
  }
  const label = placed.row.lane.label;
  const shift = (data.base - scale.from) / scale.per;
  const xNow = xOf(scale, now);
  const right = scale.width + 2;
  const sum = placed.row.fold !== null;
  // What waits lies below what runs: many calls wait on a rank while one runs.
  for (let i = 0; i < s.length; i++) {
    const submit = s.submit[i] as number;
    if (Number.isNaN(submit)) continue;
    const state = s.state[i] as number;
    const x0 = shift + submit / scale.per;
    const start = s.start[i] as number;
    const until = Number.isNaN(start) ? (state === PENDING ? Number.NaN : (s.end[i] as number)) : start;
    const x1 = Number.isNaN(until) ? xNow : Math.min(xNow, shift + until / scale.per);
    if (x0 > Math.min(right, xNow) || x1 < -2 || x1 - x0 < 1) continue;
    const style = b.palette.nameStyle(s.name[i] as number);
    const { top, height } = barOf(placed, s.depth[i]);
    const a = Math.max(-2, x0);
    b.rect(a, y + top, Math.min(right, x1) - a, height, style.pale.css);
    if (state === PENDING && height > 4) {
      b.ctx.strokeStyle = style.fill.css;
      b.ctx.lineWidth = 1;
      b.ctx.setLineDash([3, 2]);
      b.ctx.strokeRect(a + 0.5, y + top + 0.5, Math.max(2, Math.min(right, x1) - a - 1), height - 1);
      b.ctx.setLineDash([]);
      if (!sum)
        b.label(
          names.list[s.name[i] as number] ?? "",
          Math.max(0, a) + 5,
          y + top + height / 2,
          Math.min(right, x1) - Math.max(0, a) - 8,
          b.palette.fg2,
        );
    }
  }
  for (let i = 0; i < s.length; i++) {
    const state = s.state[i] as number;
    if (state === PENDING) continue;
    const start = s.start[i] as number;
    const end = s.end[i] as number;
    const open = ongoing(state);
    const x0 = shift + (Number.isNaN(start) ? end : start) / scale.per;
    const x1 = Number.isNaN(end) ? (open ? xNow : x0) : Math.min(xNow, shift + end / scale.per);
    if (!(x0 <= right) || x1 < -2 || x0 > xNow) continue;
    const { top, height } = barOf(placed, s.depth[i]);
    const name = names.list[s.name[i] as number] ?? "";
    const dim = p.match !== null && !p.match(name, label);
    if (dim) b.ctx.globalAlpha = 0.25;
    drawSlice(b, {
      x0,
      x1,
      right,
      top: y + top,
      height,
      state,
      name,
      open,
      sum,
      style: b.palette.nameStyle(s.name[i] as number),
    });
    if (dim) b.ctx.globalAlpha = 1;
  }
}

interface Drawn {
  x0: number;
  x1: number;
  right: number;
  top: number;
  height: number;
  state: number;
  name: string;
  open: boolean;
  sum: boolean;
  style: ReturnType<Brush["palette"]["nameStyle"]>;
}

function drawSlice(b: Brush, d: Drawn): void {
  const { palette } = b;
  const failed = d.state === FAILED;
  const least = failed ? 3 : 1;
  // Whole pixels: a bar must not shimmer while the window moves. One pixel stays free before the next.
  const a = Math.max(-2, Math.round(d.x0));
  const e = Math.min(d.right, Math.round(d.x1));
  const width = Math.max(least, e - a - (d.open ? 0 : 1));
  b.rect(a, d.top, width, d.height, failed ? palette.fail.css : d.style.fill.css);
  if (d.open && d.x1 <= d.right && d.height >= 6 && width > 3) arrow(b, a + width, d.top, d.height, d.style.fill.css);
  if (failed && d.height >= 6) {
    if (width >= 13) b.glyph("failed", a + 3, d.top + d.height / 2 - 4, 8, palette.failInk);
    else b.rect(a, d.top - 2, Math.max(3, width), d.height + 4, palette.fail.css);
  }
  const left = Math.max(0, a) + (failed ? 14 : 5);
  const room = a + width - left - 3;
  if (d.height < 10 || room < 18 || (d.sum && d.height < 12)) return;
  b.label(d.name, left, d.top + d.height / 2, room, failed ? palette.failInk : d.style.ink, failed);
}

/** It runs on: the bar ends in a point. */
function arrow({ ctx }: Brush, x: number, top: number, height: number, fill: string): void {
  ctx.fillStyle = fill;
  ctx.beginPath();
  ctx.moveTo(x, top);
  ctx.lineTo(x + 5, top + height / 2);
  ctx.lineTo(x, top + height);
  ctx.fill();
}

function drawPause(b: Brush, p: Picture, placed: Placed, y: number, pause: Pause): void {
  const { scale, now } = p;
  const end = Math.min(now, pause.end_ns ?? now);
  const x0 = Math.round(xOf(scale, pause.start_ns));
  const x1 = Math.round(xOf(scale, end));
  if (x0 > scale.width || x1 < 0 || pause.start_ns > now) return;
  const a = Math.max(-2, x0);
  const width = Math.max(3, Math.min(scale.width + 2, x1) - a);
  if (placed.row.kind === "lane" && placed.row.fold !== null) {
    b.rect(a, y + 3, width, 4, b.hatch);
    return;
  }
  const { top, height } = barOf({ ...placed, depth: 1 });
  b.rect(a, y + top, width, height, b.hatch);
  if (pause.end_ns === null && x1 <= scale.width) arrow(b, a + width, y + top, height, b.palette.pause.css);
  if (width < 13) return;
  const left = Math.max(0, a) + 4;
  b.glyph("paused", left, y + top + height / 2 - 4.5, 9, b.palette.pauseInk);
  b.label(p.pauseText(pause, end), left + 13, y + top + height / 2, a + width - left - 16, b.palette.pauseInk, true);
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

/** What isn't held, and what is only supposed. */
function shade(b: Brush, p: Picture): void {
  const { scale, height } = p;
  if (p.heldFrom !== null) {
    const x = xOf(scale, p.heldFrom);
    if (x > 0) {
      b.ctx.globalAlpha = 0.8;
      b.rect(0, 0, Math.min(x, scale.width), height, b.palette.sunken.css);
      b.ctx.globalAlpha = 1;
      b.rect(Math.round(x), 0, 1, height, b.palette.line2.css);
    }
  }
  const [x0, x1] = [xOf(scale, p.freshUntil), xOf(scale, p.now)];
  if (x1 - x0 > 4 && x1 > 0 && x0 < scale.width) {
    b.ctx.globalAlpha = 0.45;
    b.rect(Math.max(0, x0), 0, Math.min(x1, scale.width) - Math.max(0, x0), height, b.palette.surface.css);
    b.ctx.globalAlpha = 1;
  }
}

function drawSteps({ ctx, palette }: Brush, { steps, scale, height }: Picture): void {
  ctx.strokeStyle = palette.fg3;
  ctx.lineWidth = 1;
  ctx.setLineDash([2, 3]);
  ctx.beginPath();
  let last = Number.NEGATIVE_INFINITY;
  for (const step of steps) {
    const x = Math.round(xOf(scale, step.start_ns)) + 0.5;
    if (x < 0 || x > scale.width || x - last < 6) continue;
    last = x;
    ctx.moveTo(x, 0);
    ctx.lineTo(x, height);
  }
  ctx.stroke();
  ctx.setLineDash([]);
}

function drawSelected(b: Brush, p: Picture, seen: readonly Placed[]): void {
  for (const [task, strong] of [
    [p.hovered, false],
    [p.selected, true],
  ] as const) {
    if (!task) continue;
    for (const placed of seen) {
      if (placed.row.kind !== "lane" || placed.row.fold !== null) continue;
      const data = p.held?.lanes.get(placed.row.key);
      const s = data?.slices;
      if (!data || !s) continue;
      const i = find(s, task);
      if (i >= 0) outline(b, p, placed, data, s, i, strong);
    }
  }
}

function outline(
  b: Brush,
  p: Picture,
  placed: Placed,
  data: LaneData,
  s: SliceColumns,
  i: number,
  strong: boolean,
): void {
  const { ctx, palette } = b;
  const { top, height } = barOf(placed, s.depth[i]);
  const [start, end] = [s.start[i] as number, s.end[i] as number];
  const from = Number.isNaN(start) ? (s.submit[i] as number) : start;
  const x0 = Math.max(-4, Math.round(xOf(p.scale, data.base + from)));
  const until = Number.isNaN(end) ? (ongoing(s.state[i] as number) ? p.now : data.base + from) : data.base + end;
  const x1 = Math.min(p.scale.width + 4, Math.round(xOf(p.scale, until)));
  const y = placed.y - p.scrollTop + top;
  const width = Math.max(3, x1 - x0);
  if (strong) {
    ctx.strokeStyle = palette.surface.css;
    ctx.lineWidth = 4;
    ctx.strokeRect(x0 - 1, y - 1, width + 1, height + 2);
  }
  ctx.strokeStyle = strong ? palette.fg : palette.fg2;
  ctx.lineWidth = strong ? 2 : 1;
  ctx.strokeRect(x0 - (strong ? 1 : 0.5), y - (strong ? 1 : 0.5), width + 1, height + (strong ? 2 : 1));
}

function find(s: SliceColumns, task: TaskRef): number {
  const first = Number.parseInt(task.task_id.slice(0, 2), 16);
  for (let i = 0; i < s.length; i++)
    if (s.taskId[24 * i] === first && s.attempt[i] === task.attempt && taskIdAt(s, i) === task.task_id) return i;
  return -1;
}

export const STATE_WORDS = {
  [PENDING]: "pending",
  [RUNNING]: "running",
  [FINISHED]: "finished",
  [FAILED]: "failed",
  [PAUSED]: "paused",
} as const;
