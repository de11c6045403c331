// Dense lanes: what touches each pixel, gathered from bins or slices, then written as one row of pixels and copied down.
// The cost is that of the pixels, whatever the number of tasks; nothing failed or paused is lost on the way.
import {
  type BinColumns,
  FAILED,
  type Frame,
  type LaneData,
  PAUSED,
  PENDING,
  RUNNING,
  type SliceColumns,
} from "./marks";
import { type Palette, pixel } from "./palette";

const bit = (state: number) => 1 << state;
const IS_FAILED = bit(FAILED);
const IS_PAUSED = bit(PAUSED);
const IS_RUNNING = bit(RUNNING);
const IS_PENDING = bit(PENDING);

/** Of 255: so much of a sum is busy that it looks filled. */
const FILLED = 160;

/** Device pixels of a lane, from left to right. */
export class Columns {
  readonly name: Uint32Array;
  readonly busy: Uint8Array;
  /** How much the name counts for here. */
  readonly weight: Float64Array;
  /** Bits of the states that touch it; 0: nothing does. */
  readonly states: Uint8Array;

  constructor(readonly width: number) {
    this.name = new Uint32Array(width);
    this.busy = new Uint8Array(width);
    this.weight = new Float64Array(width);
    this.states = new Uint8Array(width);
  }

  clear(): void {
    this.busy.fill(0);
    this.weight.fill(0);
    this.states.fill(0);
  }

  /** Stretches at least `least` pixels long that one name fills for the most part; what waits counts for none. */
  runs(least: number): { from: number; to: number; name: number }[] {
    const list: { from: number; to: number; name: number }[] = [];
    const ran = (x: number) => ((this.states[x] as number) & ~IS_PENDING) !== 0 && (this.busy[x] as number) >= FILLED;
    for (let from = 0; from < this.width; ) {
      let to = from + 1;
      const name = this.name[from] as number;
      if (ran(from)) {
        while (to < this.width && ran(to) && this.name[to] === name) to++;
        if (to - from >= least) list.push({ from, to, name });
      }
      from = to;
    }
    return list;
  }

  private touch(x: number, name: number, weight: number, busy: number, states: number): void {
    if (weight >= (this.weight[x] as number)) {
      this.weight[x] = weight;
      this.name[x] = name;
    }
    if (busy > (this.busy[x] as number)) this.busy[x] = busy;
    this.states[x] = (this.states[x] as number) | states;
  }

  /**
   * `per`: ns a device pixel; `from`: the time of the left edge; `until`: nothing that begins later is shown.
   * `ignore`: states that something else shows better. `keep`: whether a name is searched for.
   */
  addBins(
    bins: BinColumns,
    frame: Frame,
    from: number,
    per: number,
    until: number,
    ignore = 0,
    keep?: (name: number) => boolean,
  ): void {
    const long = (frame.to - frame.from) / frame.pixels;
    const first = (frame.from - from) / per;
    const step = long / per;
    const end = Math.min(this.width, Math.ceil((until - from) / per));
    for (let i = 0; i < bins.length; i++) {
      const index = bins.index[i] as number;
      const left = Math.floor(first + index * step + 1e-6);
      if (left >= end) break;
      const right = Math.max(left + 1, Math.floor(first + (index + 1) * step + 1e-6));
      if (right <= 0) continue;
      const name = bins.name[i] as number;
      const busy = bins.busy[i] as number;
      const states = (bins.states[i] as number) & ~ignore || IS_RUNNING;
      const shown = keep && !keep(name) && !(states & (IS_FAILED | IS_PAUSED)) ? busy >> 2 : busy;
      const weight = 1 + busy * (bins.count[i] as number);
      for (let x = Math.max(0, left); x < Math.min(end, right); x++) this.touch(x, name, weight, shown, states);
    }
  }

  /** `share`: of 255, what one slice takes of a lane that sums up many. */
  addSlices({ base }: LaneData, s: SliceColumns, from: number, per: number, now: number, share = 255): void {
    const shift = (base - from) / per;
    for (let i = 0; i < s.length; i++) {
      const state = s.state[i] as number;
      const begin = state === PENDING ? (s.submit[i] as number) : (s.start[i] as number);
      const known = Number.isNaN(begin) ? (s.end[i] as number) : begin;
      const ends = s.end[i] as number;
      const left = shift + known / per;
      if (!(left < this.width)) continue;
      const right = Number.isNaN(ends) ? (now - from) / per : shift + ends / per;
      const a = Math.max(0, Math.floor(left));
      const b = Math.min(this.width, Math.max(Math.floor(left) + 1, Math.floor(right)));
      for (let x = a; x < b; x++) {
        const busy = state === PENDING ? 0 : Math.min(255, (this.busy[x] as number) + share);
        this.touch(x, s.name[i] as number, right - left, busy, bit(state));
      }
    }
  }
}

/** Pixels above and below a bar into which the sign of a failure reaches. */
export const REACH = 2;

/**
 * Writes the columns into `out`, `height` rows of `columns.width` pixels; `blank` is what shows where nothing is.
 * `ratio`: device pixels a CSS pixel.
 */
export function paintColumns(
  out: Uint32Array,
  height: number,
  columns: Columns,
  blank: Uint32Array,
  palette: Palette,
  ratio: number,
  reach = Math.round(REACH * ratio),
): void {
  const { width } = columns;
  const row = out.subarray(reach * width, (reach + 1) * width);
  row.set(blank);
  const { surface } = palette;
  let failed = false;
  let paused = false;
  for (let x = 0; x < width; x++) {
    const states = columns.states[x] as number;
    if (states === 0) continue;
    failed ||= (states & IS_FAILED) !== 0;
    paused ||= (states & IS_PAUSED) !== 0;
    const { fill } = palette.nameStyle(columns.name[x] as number);
    const share = states === IS_PENDING ? 0.3 : 0.4 + (0.6 * (columns.busy[x] as number)) / 255;
    const rest = 1 - share;
    const r = fill.r * share + surface.r * rest;
    const g = fill.g * share + surface.g * rest;
    const b = fill.b * share + surface.b * rest;
    row[x] = ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
  }
  if (paused) hatch(out, height, columns, row, palette, ratio, reach);
  else for (let y = reach + 1; y < height - reach; y++) out.copyWithin(y * width, reach * width, (reach + 1) * width);
  for (let y = 0; y < reach; y++) {
    out.set(blank, y * width);
    out.set(blank, (height - 1 - y) * width);
  }
  if (failed) strike(out, height, columns, palette, ratio);
}

/** Where something is paused: stripes, so that it is told without its colour. */
function hatch(
  out: Uint32Array,
  height: number,
  { states, width }: Columns,
  row: Uint32Array,
  palette: Palette,
  ratio: number,
  reach: number,
): void {
  const own = row.slice();
  const period = Math.round(8 * ratio);
  const dark = Math.round(2.6 * ratio);
  const [pause, stripe] = [pixel(palette.pause), pixel(palette.pause2)];
  for (let y = reach; y < height - reach; y++) {
    const line = out.subarray(y * width, (y + 1) * width);
    line.set(own);
    for (let x = 0; x < width; x++)
      if ((states[x] as number) & IS_PAUSED) line[x] = (x + y) % period < dark ? stripe : pause;
  }
}

/** Where something failed: a stroke at least three pixels wide that reaches over the bar. */
function strike(out: Uint32Array, height: number, { states, width }: Columns, palette: Palette, ratio: number): void {
  const fail = pixel(palette.fail);
  const side = Math.round(ratio);
  for (let x = 0; x < width; x++) {
    if (!((states[x] as number) & IS_FAILED)) continue;
    const [a, b] = [Math.max(0, x - side), Math.min(width, x + side + 1)];
    for (let y = 0; y < height; y++) out.fill(fail, y * width + a, y * width + b);
  }
}
