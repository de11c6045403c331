// The hub's clock, so that "2m 14s" is right whatever this machine's clock says.
import { create } from "zustand";

let offsetMs = 0;
let known = false;

/** Messages only arrive late, never early: the largest difference seen is nearest to the truth. */
export function learnClock(hubNs: number, localMs = Date.now()): void {
  const sample = hubNs / 1e6 - localMs;
  if (!known || sample > offsetMs || offsetMs - sample > 2000) offsetMs = sample;
  known = true;
}

export function resetClock(): void {
  known = false;
  offsetMs = 0;
}

export const hubNow = (localMs = Date.now()): number => localMs + offsetMs;

interface Clock {
  /** The hub's time in ms that the page shows; stands still while the view is frozen or the stream is lost. */
  now: number;
  heldAt: number | null;
}

export const useClock = create<Clock>(() => ({ now: Date.now(), heldAt: null }));

/** The time in ms that the page shows, to the frame: the hub's, or that at which it stands still. */
export const shownNow = (): number => useClock.getState().heldAt ?? hubNow();

export const tick = (): void => useClock.setState((s) => ({ now: s.heldAt ?? hubNow() }));

export function holdClock(atMs: number | null): void {
  useClock.setState({ heldAt: atMs, now: atMs ?? hubNow() });
}

export function startClock(): void {
  tick();
  window.setInterval(tick, 1000);
}

/** Milliseconds since a time of the hub's, ticking each second. */
export function useSince(ns: number | null): number | null {
  return useClock((s) => (ns === null ? null : Math.max(0, Math.floor((s.now - ns / 1e6) / 1000) * 1000)));
}
