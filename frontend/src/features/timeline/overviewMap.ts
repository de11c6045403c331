// The minimap: all that is held in one strip, a thin bar a topmost lane, with the window on it to drag.
import { Line } from "../../api/line";
import type { Lane, Pause, TimelineJob } from "../../api/types.gen";
import { Brush } from "./brush";
import { type Scale, xOf } from "./layout";
import { type Held, merge } from "./marks";
import { mix, themePalette } from "./palette";
import { ticks } from "./ruler";
import { nowNs, setFollow, show, useTimeline, type Window, windowOf } from "./state";

export const MAP_HEIGHT = 45;
const TOP = 6;
const TALL = 25;
const LEAST_PERIOD_MS = 2000;
const MOST_LANES = 12;
const EDGE = 6;

export interface MapFacts {
  job: TimelineJob;
  roots: readonly Lane[];
  pauses: ReadonlyMap<string, readonly Pause[]>;
}

export class OverviewMap {
  private width = 0;
  private ratio = 1;
  private brush: Brush | null = null;
  private facts: MapFacts | null = null;
  private held: Held | null = null;
  private askedVersion = -1;
  private askedAt = Number.NEGATIVE_INFINITY;
  private frame = 0;
  private timer: number | undefined;
  private readonly line = new Line();
  private readonly stops: (() => void)[] = [];

  constructor(private readonly canvas: HTMLCanvasElement) {
    const resize = new ResizeObserver(() => this.resize());
    if (canvas.parentElement) resize.observe(canvas.parentElement);
    const theme = new MutationObserver(() => this.resize());
    theme.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    this.stops.push(
      () => resize.disconnect(),
      () => theme.disconnect(),
      useTimeline.subscribe((s, old) => {
        if (s.from !== old.from || s.span !== old.span || s.follow !== old.follow) this.invalidate();
      }),
      followDrag(this, canvas),
    );
    this.resize();
  }

  stop(): void {
    for (const stop of this.stops) stop();
    this.line.clear();
    cancelAnimationFrame(this.frame);
    window.clearTimeout(this.timer);
    this.frame = -1;
  }

  update(facts: MapFacts): void {
    if (facts.job.job_id !== this.facts?.job.job_id || facts.job.version < this.askedVersion) {
      this.held = null;
      this.askedVersion = -1;
      this.line.clear();
    }
    this.facts = facts;
    this.invalidate();
  }

  /** All that is held, up to now, and the window where it lies outside. */
  range(): Window {
    const now = nowNs();
    const job = this.facts?.job;
    const from = job?.first_ns ?? now - 60e9;
    const to = job && job.running + job.pending === 0 ? Math.max(job.last_ns ?? now, from + 1e9) : now;
    return { from, to: to + (to - from) * 0.01 };
  }

  scale(): Scale {
    const { from, to } = this.range();
    return { from, per: (to - from) / Math.max(1, this.width - EDGE), width: this.width };
  }

  invalidate(): void {
    if (this.frame !== 0) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.ask();
      this.draw();
    });
  }

  private resize(): void {
    const box = this.canvas.parentElement;
    this.width = box ? Math.max(0, box.clientWidth - this.canvas.offsetLeft) : 0;
    this.ratio = Math.min(3, window.devicePixelRatio || 1);
    this.canvas.width = Math.round(this.width * this.ratio);
    this.canvas.height = Math.round(MAP_HEIGHT * this.ratio);
    this.canvas.style.width = `${this.width}px`;
    this.canvas.style.height = `${MAP_HEIGHT}px`;
    const ctx = this.canvas.getContext("2d", { alpha: false });
    this.brush = ctx ? new Brush(ctx, themePalette(), this.ratio) : null;
    this.invalidate();
  }

  /** The whole range anew, every few seconds at most, when something has changed. */
  private ask(): void {
    const { facts, width } = this;
    if (!facts || width === 0 || facts.job.version === this.askedVersion || !this.line.idle) return;
    const wait = this.askedAt + LEAST_PERIOD_MS - performance.now();
    if (wait > 0) {
      window.clearTimeout(this.timer);
      this.timer = window.setTimeout(() => this.invalidate(), wait);
      return;
    }
    const { from, to } = this.range();
    const lanes = facts.roots.map((lane) => lane.lane_id);
    const frame = {
      jobId: facts.job.job_id,
      from: Math.round(from),
      to: Math.round(to),
      pixels: Math.min(4096, Math.max(64, width)),
    };
    this.askedVersion = facts.job.version;
    this.askedAt = performance.now();
    this.line
      .ask({
        type: "query_timeline",
        job_id: frame.jobId,
        lanes,
        from_ns: frame.from,
        to_ns: frame.to,
        pixels: frame.pixels,
        since: 0,
      })
      .then((reply) => {
        if (reply?.marks) this.held = merge(null, frame, lanes, reply.marks);
        this.invalidate();
      })
      .catch(() => {
        this.askedVersion = -1; // once more when the next version comes
      });
  }

  private draw(): void {
    const { brush: b, facts, held, width } = this;
    if (!b || !facts || width === 0) return;
    const { palette, ctx, ratio } = b;
    const scale = this.scale();
    const now = nowNs();
    const ground = { ...palette, surface: palette.sunken };
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    const back = mix(palette.sunken, palette.surface, 0.5);
    b.rect(0, 0, width, MAP_HEIGHT, back.css);
    const roots = facts.roots.slice(0, MOST_LANES);
    const each = Math.min(6, TALL / Math.max(1, roots.length));
    const blank = new Uint32Array(Math.round(width * ratio));
    blank.fill(((255 << 24) | (back.b << 16) | (back.g << 8) | back.r) >>> 0);
    for (const [i, root] of roots.entries()) {
      const data = held?.lanes.get(root.lane_id);
      const top = TOP + Math.round(i * each);
      const tall = Math.max(1, Math.round(each) - 1);
      if (data && held) {
        const columns = b.fresh(scale);
        const per = scale.per / ratio;
        if (data.bins) columns.addBins(data.bins, held, scale.from, per, now);
        else if (data.slices) columns.addSlices(data, data.slices, scale.from, per, now);
        b.strip(columns, top, tall, blank, ground);
      }
      for (const pause of facts.pauses.get(root.lane_id) ?? []) {
        const [x0, x1] = [xOf(scale, pause.start_ns), xOf(scale, Math.min(now, pause.end_ns ?? now))];
        b.rect(x0, top, Math.max(2, x1 - x0), tall, palette.pause.css);
      }
    }
    this.drawTicks(b, scale);
    this.drawWindow(b, scale);
  }

  private drawTicks(b: Brush, scale: Scale): void {
    const { ctx, palette } = b;
    ctx.font = `9.5px ${palette.font}`;
    ctx.textBaseline = "alphabetic";
    ctx.fillStyle = palette.fg3;
    for (const { ns, label } of ticks(scale.from, scale.from + scale.width * scale.per, scale.width, 130).list) {
      if (label === null) continue;
      const x = Math.round(xOf(scale, ns));
      b.rect(x, MAP_HEIGHT - 9, 1, 6, palette.line2.css);
      ctx.fillStyle = palette.fg3;
      ctx.fillText(label, x + 3, MAP_HEIGHT - 3);
    }
  }

  private drawWindow(b: Brush, scale: Scale): void {
    const { ctx, palette } = b;
    const [x0, x1] = this.edges(scale);
    ctx.globalAlpha = 0.55;
    b.rect(0, 0, Math.max(0, x0), MAP_HEIGHT - 1, palette.surface.css);
    b.rect(x1, 0, Math.max(0, scale.width - x1), MAP_HEIGHT - 1, palette.surface.css);
    ctx.globalAlpha = 0.08;
    b.rect(x0, 2, x1 - x0, MAP_HEIGHT - 5, palette.accent);
    ctx.globalAlpha = 1;
    ctx.strokeStyle = palette.accent;
    ctx.lineWidth = 1;
    ctx.beginPath();
    ctx.roundRect(x0 + 0.5, 2.5, Math.max(2, x1 - x0 - 1), MAP_HEIGHT - 6, 3);
    ctx.stroke();
    for (const x of [x0, x1]) {
      ctx.beginPath();
      ctx.roundRect(x - 2, 14, 4, 15, 2);
      ctx.fillStyle = palette.accent;
      ctx.fill();
    }
  }

  /** The window's edges on the strip; what lies outside stays at its ends. */
  edges(scale = this.scale()): [number, number] {
    const { from, to } = windowOf(useTimeline.getState());
    const x0 = Math.max(2, Math.min(scale.width - 8, xOf(scale, from)));
    return [Math.round(x0), Math.round(Math.max(x0 + 4, Math.min(scale.width - 3, xOf(scale, to))))];
  }
}

/** Drag the window, or one of its edges; a click beside it brings it there. */
function followDrag(map: OverviewMap, canvas: HTMLCanvasElement): () => void {
  let drag: { part: "window" | "left" | "right"; x: number; window: Window } | null = null;
  const xAt = (event: MouseEvent) => event.clientX - canvas.getBoundingClientRect().left;
  const partAt = (x: number): "window" | "left" | "right" | null => {
    const [x0, x1] = map.edges();
    if (Math.abs(x - x0) <= EDGE && (x < x0 + 3 || x1 - x0 > 4 * EDGE)) return "left";
    if (Math.abs(x - x1) <= EDGE) return "right";
    return x > x0 && x < x1 ? "window" : null;
  };
  const down = (event: PointerEvent) => {
    const x = xAt(event);
    const window_ = windowOf(useTimeline.getState());
    const part = partAt(x);
    canvas.setPointerCapture(event.pointerId);
    if (part === null) {
      const { from, per } = map.scale();
      const middle = from + x * per;
      const half = (window_.to - window_.from) / 2;
      show({ from: middle - half, to: middle + half });
      drag = { part: "window", x, window: windowOf(useTimeline.getState()) };
    } else drag = { part, x, window: window_ };
  };
  const move = (event: PointerEvent) => {
    const x = xAt(event);
    if (!drag) {
      const part = partAt(x);
      canvas.style.cursor = part === null ? "pointer" : part === "window" ? "grab" : "ew-resize";
      return;
    }
    const by = (x - drag.x) * map.scale().per;
    if (by === 0) return;
    const { from, to } = drag.window;
    if (drag.part === "window") show({ from: from + by, to: to + by });
    else if (drag.part === "left") show({ from: Math.min(from + by, to - 1e6), to });
    else show({ from, to: Math.max(to + by, from + 1e6) });
  };
  const up = () => {
    drag = null;
  };
  const wheel = (event: WheelEvent) => {
    event.preventDefault();
    const { from, to } = windowOf(useTimeline.getState());
    const factor = Math.exp(Math.max(-1, Math.min(1, event.deltaY / 300)));
    const middle = (from + to) / 2;
    show({ from: middle - (middle - from) * factor, to: middle + (to - middle) * factor });
  };
  const double = () => setFollow(true);
  canvas.addEventListener("pointerdown", down);
  canvas.addEventListener("pointermove", move);
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
  canvas.addEventListener("wheel", wheel, { passive: false });
  canvas.addEventListener("dblclick", double);
  return () => {
    canvas.removeEventListener("pointerdown", down);
    canvas.removeEventListener("pointermove", move);
    canvas.removeEventListener("pointerup", up);
    canvas.removeEventListener("pointercancel", up);
    canvas.removeEventListener("wheel", wheel);
    canvas.removeEventListener("dblclick", double);
  };
}
