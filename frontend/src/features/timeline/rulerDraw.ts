// Draws the ruler: times, steps, where what is held begins, and now.
import type { Step } from "../../api/types.gen";
import type { Brush } from "./brush";
import { type Scale, seenSteps, xOf } from "./layout";
import type { Tick } from "./ruler";
import type { Texts } from "./stage";

export const RULER = 32;

export function drawRuler(
  b: Brush,
  scale: Scale,
  ticks: readonly Tick[],
  steps: readonly Step[],
  now: number,
  heldFrom: number | null,
  texts: Texts,
): void {
  const { ctx, palette, ratio } = b;
  const { width } = scale;
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  b.rect(0, 0, width, RULER, palette.surface2.css);
  b.rect(0, RULER - 1, width, 1, palette.line2.css);
  ctx.textBaseline = "middle";
  ctx.font = `10.5px ${palette.font}`;
  for (const { ns, label } of ticks) {
    const x = Math.round(xOf(scale, ns));
    b.rect(x, label === null ? RULER - 7 : RULER - 10, 1, label === null ? 6 : 9, palette.line2.css);
    if (label === null) continue;
    ctx.fillStyle = palette.fg3;
    ctx.fillText(label, x + 4, RULER - 9);
  }
  const nowAt = xOf(scale, now);
  const nowSeen = nowAt >= 0 && nowAt <= width + 1;
  ctx.font = `600 10px ${palette.font}`;
  const nowLeft = nowSeen ? Math.round(nowAt - ctx.measureText(texts.now).width - 9) : width;
  ctx.font = `10.5px ${palette.font}`;
  // A chip a step; where they are close, only as many as are readable.
  let free = 0;
  for (const step of seenSteps(steps, scale)) {
    const x = Math.round(xOf(scale, step.start_ns));
    if (x < free) continue;
    free = chip(b, texts.step(step), x, palette.fg2, palette.surface.css, nowLeft - 3, step.inferred) + 4;
  }
  if (heldFrom !== null) {
    const x = Math.round(xOf(scale, heldFrom));
    ctx.font = `600 10px ${palette.font}`;
    const left = Math.round(x - ctx.measureText(texts.heldFrom).width - 12);
    ctx.font = `10.5px ${palette.font}`;
    if (left > 0) chip(b, texts.heldFrom, left, palette.sunken.css, palette.fg3, width + 4);
  }
  if (nowSeen) {
    chip(b, texts.now, nowLeft, palette.ok, palette.surface.css, width + 4);
    b.rect(Math.round(nowAt) - 0.75, 14, 1.5, RULER - 14, palette.ok);
  }
}

/** A small filled label; gives its right edge. `open`: outlined, for what is only inferred. */
function chip(b: Brush, text: string, x: number, fill: string, ink: string, most: number, open = false): number {
  const { ctx, palette } = b;
  ctx.font = `600 10px ${palette.font}`;
  const w = Math.ceil(ctx.measureText(text).width) + 10;
  if (x + w <= most + 2) {
    ctx.beginPath();
    ctx.roundRect(x + (open ? 0.5 : 0), 2 + (open ? 0.5 : 0), w - (open ? 1 : 0), 13 - (open ? 1 : 0), 2.5);
    ctx.fillStyle = open ? palette.surface2.css : fill;
    ctx.fill();
    if (open) {
      ctx.strokeStyle = fill;
      ctx.setLineDash([2, 2]);
      ctx.lineWidth = 1;
      ctx.stroke();
      ctx.setLineDash([]);
    }
    ctx.fillStyle = open ? fill : ink;
    ctx.fillText(text, x + 5, 9);
  }
  ctx.font = `10.5px ${palette.font}`;
  return x + w;
}
