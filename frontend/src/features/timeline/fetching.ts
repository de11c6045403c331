// For which window to ask: wider than what is seen and on a grid, so that panning and following rarely ask anew.
import type { Window } from "./state";

export const MOST_PIXELS = 8192;

/** What is asked for: the window and how many pixels wide it is. */
export interface Wanted {
  from: number;
  to: number;
  pixels: number;
}

/** About three times the window (while following: a little of the past, a little of what comes), in whole blocks. */
export function wantedFor(window: Window, width: number, ratio: number, follow: boolean): Wanted {
  const span = window.to - window.from;
  const bin = binOf(span / Math.max(1, width * Math.min(ratio, 2)));
  const block = bin * 256;
  const before = follow ? 0.5 : 1;
  let from = Math.floor((window.from - before * span) / block) * block;
  let to = Math.ceil((window.to + before * span) / block) * block;
  // A wide screen: less around it, never a coarser bin than a pixel.
  while ((to - from) / bin > MOST_PIXELS && from + block <= window.from) from += block;
  while ((to - from) / bin > MOST_PIXELS && to - block >= window.to) to -= block;
  return { from: Math.round(from), to: Math.round(to), pixels: Math.min(MOST_PIXELS, Math.round((to - from) / bin)) };
}

/** A bin at most a pixel wide, in steps of the square root of two. */
export const binOf = (perPixel: number): number => 2 ** (Math.floor(Math.log2(Math.max(1, perPixel)) * 2) / 2);

/** Whether what is held still serves: it covers the window, and its bins are neither too coarse nor far too fine. */
export function serves(held: Wanted, window: Window, width: number, ratio: number): boolean {
  const perPixel = (window.to - window.from) / Math.max(1, width * Math.min(ratio, 2));
  const bin = (held.to - held.from) / held.pixels;
  return held.from <= window.from && held.to >= window.to && bin <= perPixel * 1.05 && bin >= perPixel * 0.45;
}
