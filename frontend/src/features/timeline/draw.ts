// Draws the lanes that are seen. Each state has a shape of its own: pending is pale (and outlined while it waits), running
// ends in an arrow, failed is solid with a cross, paused is striped with two bars.
import type { Pause, Step } from "../../api/types.gen";
import type { Brush } from "./brush";
import { ongoing } from "./hit";
import { barOf, type Placed, type Scale, seenSteps, xOf } from "./layout";
import { type Held, type LaneData, names, PAUSED, type SliceColumns, taskIdAt } from "./marks";
import type { Tick } from "./ruler";
import { drawPauses, drawSlices, isFolded, labelRuns } from "./slices";
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
  drawPauses(b, p, placed, y);
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
  // A bin says that a task which is paused touches it; a row of pauses says since when it is.
  const ignore = p.pauses.has(placed.row.key) ? 1 << PAUSED : 0;
  columns.addBins(data.bins, held, scale.from, scale.per / b.ratio, p.now, ignore, keep);
  const { top, height } = barOf({ ...placed, depth: 1 });
  b.raster(columns, y + top, height, blank);
  if (isFolded(placed)) labelRuns(b, p, columns, placed, y);
}

/** What isn't held. */
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
}

function drawSteps({ ctx, palette }: Brush, { steps, scale, height }: Picture): void {
  ctx.strokeStyle = palette.fg3;
  ctx.lineWidth = 1;
  ctx.setLineDash([2, 3]);
  ctx.beginPath();
  for (const step of seenSteps(steps, scale)) {
    const x = Math.round(xOf(scale, step.start_ns)) + 0.5;
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
