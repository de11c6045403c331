// The canvas with its ruler: draws when something changed, never through React. Knows the size, the scroll position and
// the marks; the state of the view lies in state.ts.
import type { Pause, Step, TimelineJob } from "../../api/types.gen";
import { Brush } from "./brush";
import { drawLanes } from "./draw";
import { Feed } from "./feed";
import { type Hit, hitAt } from "./hit";
import { type Layout, type Placed, rowAt, type Scale, scaleOf, seen, timeOf, xOf } from "./layout";
import { themePalette } from "./palette";
import { ticks } from "./ruler";
import { drawRuler, RULER } from "./rulerDraw";
import { nowNs, useTimeline, windowOf } from "./state";

export interface Facts {
  job: TimelineJob | null;
  layout: Layout;
  steps: readonly Step[];
  pauses: ReadonlyMap<string, readonly Pause[]>;
  /** Facts come no more: the stream is lost, or the view frozen. */
  held: boolean;
}

export interface Texts {
  pause: (pause: Pause, end: number) => string;
  now: string;
  step: (step: Step) => string;
  heldFrom: string;
}

export interface Elements {
  scroller: HTMLElement;
  canvas: HTMLCanvasElement;
  ruler: HTMLCanvasElement;
}

/** Lanes around those that are seen, whose marks are fetched too. */
const AROUND = 12;
/** Facts older than this are only supposed to go on. */
const FRESH_NS = 3e9;

export class Stage {
  readonly feed: Feed;
  width = 0;
  height = 0;
  /** A stretch that is being marked with the pointer, x. */
  range: { from: number; to: number } | null = null;
  hovered: Hit | null = null;
  /** Who labels the rows: told when other ones are seen. */
  onRows: (first: number, last: number) => void = () => undefined;
  /** Told when the marks have changed. */
  onMarks: () => void = () => undefined;

  private ratio = 1;
  private brush: Brush | null = null;
  private rulerBrush: Brush | null = null;
  private frame = 0;
  private timer: number | undefined;
  private facts: Facts = { job: null, layout: { rows: [], height: 0 }, steps: [], pauses: new Map(), held: false };
  private readonly stops: (() => void)[] = [];

  constructor(
    private readonly at: Elements,
    private readonly texts: Texts,
  ) {
    this.feed = new Feed((error) => {
      useTimeline.setState((s) => ({ error, phase: this.feed.held ? "ready" : s.phase, version: s.version + 1 }));
      this.onMarks();
      this.invalidate();
    });
    const resize = new ResizeObserver(() => this.resize());
    resize.observe(at.scroller);
    const theme = new MutationObserver(() => this.retheme());
    theme.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    const scrolled = () => this.invalidate();
    at.scroller.addEventListener("scroll", scrolled, { passive: true });
    this.stops.push(
      () => resize.disconnect(),
      () => theme.disconnect(),
      () => at.scroller.removeEventListener("scroll", scrolled),
      useTimeline.subscribe(() => this.invalidate()),
    );
    this.resize();
  }

  stop(): void {
    for (const stop of this.stops) stop();
    cancelAnimationFrame(this.frame);
    window.clearTimeout(this.timer);
    this.feed.reset();
    this.frame = -1; // nothing is drawn any more
  }

  update(facts: Facts): void {
    this.facts = facts;
    this.invalidate();
  }

  invalidate(): void {
    if (this.frame !== 0) return;
    window.clearTimeout(this.timer);
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
  }

  get layout(): Layout {
    return this.facts.layout;
  }

  get scrollTop(): number {
    return this.at.scroller.scrollTop;
  }

  set scrollTop(top: number) {
    this.at.scroller.scrollTop = top;
  }

  scale(): Scale {
    return scaleOf(windowOf(useTimeline.getState()), this.width, this.ratio);
  }

  timeAt(x: number): number {
    return timeOf(this.scale(), x);
  }

  rowAt(y: number): Placed | undefined {
    const at = y + this.scrollTop;
    return at < this.layout.height ? this.layout.rows[rowAt(this.layout.rows, at)] : undefined;
  }

  /** What lies at a point of the canvas. */
  hit(x: number, y: number): Hit | null {
    const placed = this.rowAt(y);
    const { held } = this.feed;
    if (!placed || !held) return null;
    const inRow = y + this.scrollTop - placed.y;
    return hitAt(placed, held.lanes.get(placed.row.key), held, this.scale(), x, inRow, nowNs());
  }

  /** Scrolls just as far as needed for a row to be seen. */
  scrollTo(laneId: string): boolean {
    const placed = this.layout.rows.find(({ row }) => row.key === laneId);
    if (!placed) return false;
    const top = this.scrollTop;
    if (placed.y < top) this.scrollTop = Math.max(0, placed.y - 2 * placed.height);
    else if (placed.y + placed.height > top + this.height) {
      this.scrollTop = placed.y - this.height + 3 * placed.height;
    }
    return true;
  }

  private resize(): void {
    const { scroller, canvas, ruler } = this.at;
    this.ratio = Math.min(3, window.devicePixelRatio || 1);
    this.width = Math.max(0, canvas.parentElement ? scroller.clientWidth - canvas.offsetLeft : 0);
    this.height = scroller.clientHeight;
    for (const [element, height] of [
      [canvas, this.height],
      [ruler, RULER],
    ] as const) {
      element.width = Math.round(this.width * this.ratio);
      element.height = Math.round(height * this.ratio);
      element.style.width = `${this.width}px`;
      element.style.height = `${height}px`;
    }
    this.retheme();
  }

  private retheme(): void {
    const ctx = this.at.canvas.getContext("2d", { alpha: false });
    const ruler = this.at.ruler.getContext("2d", { alpha: false });
    if (ctx && ruler) {
      const palette = themePalette();
      this.brush = new Brush(ctx, palette, this.ratio);
      this.rulerBrush = new Brush(ruler, palette, this.ratio);
    }
    this.invalidate();
  }

  private draw(): void {
    const s = useTimeline.getState();
    const { job, layout, steps, pauses } = this.facts;
    const now = nowNs();
    const window_ = windowOf(s, now);
    const scale = scaleOf(window_, this.width, this.ratio);
    const top = this.scrollTop;
    const [first, last] = seen(layout, top, top + this.height);
    this.onRows(first, last);
    this.ask(window_, first, last);
    if (!this.brush || !this.rulerBrush || this.width === 0) return;
    const { list } = ticks(window_.from, window_.to, this.width);
    const fresh = job?.fresh_ns ?? now;
    const q = s.q.trim().toLowerCase();
    drawLanes(this.brush, {
      rows: layout.rows,
      first,
      last,
      scrollTop: top,
      height: this.height,
      scale,
      held: this.feed.held,
      now,
      heldFrom: job ? (job.first_ns ?? now) : null,
      freshUntil: now - fresh > FRESH_NS && (job?.running ?? 0) > 0 ? fresh : now,
      ticks: list,
      steps,
      pauses,
      pauseText: this.texts.pause,
      selected: s.selected,
      hovered: this.hovered?.kind === "slice" ? this.hovered.task : null,
      lane: s.lane,
      match: q === "" ? null : (name, lane) => name.toLowerCase().includes(q) || lane.toLowerCase().includes(q),
    });
    if (this.range) this.drawRange(this.brush);
    drawRuler(this.rulerBrush, scale, list, steps, now, job?.first_ns ?? null, this.texts);
    this.later(scale, now, window_);
  }

  private drawRange({ ctx, palette }: Brush): void {
    if (!this.range) return;
    const { from, to } = this.range;
    ctx.globalAlpha = 0.15;
    ctx.fillStyle = palette.accent;
    ctx.fillRect(Math.min(from, to), 0, Math.abs(to - from), this.height);
    ctx.globalAlpha = 1;
    ctx.fillRect(Math.round(from), 0, 1, this.height);
    ctx.fillRect(Math.round(to), 0, 1, this.height);
  }

  /** While time goes on: the next frame is due when something would have moved by a pixel. */
  private later(scale: Scale, now: number, { to }: { to: number }): void {
    if (this.facts.held || now > to + scale.per) return;
    const ms = scale.per / this.ratio / 1e6;
    if (ms < 20) this.invalidate();
    else {
      window.clearTimeout(this.timer);
      this.timer = window.setTimeout(() => this.invalidate(), Math.min(ms, 1000));
    }
  }

  private ask(window_: { from: number; to: number }, first: number, last: number): void {
    const { job, layout } = this.facts;
    const s = useTimeline.getState();
    if (!job || this.width === 0) return;
    const near = layout.rows.slice(Math.max(0, first - AROUND), last + AROUND);
    this.feed.want({
      jobId: job.job_id,
      lanes: near.flatMap(({ row }) => (row.kind === "lane" ? [row.key] : [])),
      window: window_,
      width: this.width,
      ratio: this.ratio,
      follow: s.follow,
      version: job.version,
    });
  }

  /** x of a moment on the canvas. */
  xOf(ns: number): number {
    return xOf(this.scale(), ns);
  }
}
