// What the timeline shows: window, folds, selection. The panel room and the canvas meet here; the URL is made from it.
import { create } from "zustand";
import { shownNow } from "../../api/clock";
import { useCluster } from "../../api/stores";
import type { ErrorBody } from "../../api/types.gen";

/** An attempt of a task. `task_id`: 48 hex digits. */
export interface TaskRef {
  task_id: string;
  attempt: number;
}

/** A stretch of a lane, Unix ns. */
export interface Place {
  lane_id: string;
  from_ns: number;
  to_ns: number;
}

export interface Window {
  from: number;
  to: number;
}

export interface TimelineState {
  /** The job that is shown; null: none. */
  jobId: string | null;
  /** The right edge is now (or where the clock stands still). Then `from` counts for nothing. */
  follow: boolean;
  /** Left edge and width of the window, Unix ns. */
  from: number;
  span: number;
  selected: TaskRef | null;
  /** Where the selection lies, once known. */
  place: Place | null;
  /** Text that is searched for: what doesn't match is dimmed. */
  q: string;
  /** Lanes folded (false) or unfolded (true) by hand; the others follow the rule of lanes.ts. */
  folds: ReadonlyMap<string, boolean>;
  /** Ids of the topmost lanes that are shown; null: all. */
  only: ReadonlySet<string> | null;
  /** The lane that the keyboard is on. */
  lane: string | null;
  /** A lane to scroll to; `n` grows with each wish. */
  wanted: { lane_id: string; n: number } | null;
  /** Of the marks: not yet there, there, or why not. */
  phase: "loading" | "ready";
  error: ErrorBody | null;
  /** Version of the marks that are drawn. */
  version: number;
}

export const S = 1e9;
const DEFAULT_SPAN = 300 * S;
const YOUNG = 30 * S;
export const LEAST_SPAN = 20e3;
export const MOST_SPAN = 30 * 86_400 * S;
/** Of the window's width: room right of "now". */
const AHEAD = 0.04;

export const initialState = (): TimelineState => ({
  jobId: null,
  follow: true,
  from: 0,
  span: DEFAULT_SPAN,
  selected: null,
  place: null,
  q: "",
  folds: new Map(),
  only: null,
  lane: null,
  wanted: null,
  phase: "loading",
  error: null,
  version: 0,
});

/** `useTimeline((s) => s.selected)`: pick the least you need; a window that follows live changes nothing in here. */
export const useTimeline = create<TimelineState>(initialState);
const { getState: get, setState: set } = useTimeline;

/** The time in ns up to which is drawn: the hub's clock, or where it stands still (frozen, stream lost). */
export const nowNs = (): number => shownNow() * 1e6;

export function windowOf(s: Pick<TimelineState, "follow" | "from" | "span">, now = nowNs()): Window {
  const from = s.follow ? now - s.span * (1 - AHEAD) : s.from;
  return { from, to: from + s.span };
}

/** Shows a window; ends following. */
export function show({ from, to }: Window): void {
  const span = Math.min(MOST_SPAN, Math.max(LEAST_SPAN, to - from));
  const middle = (from + to) / 2;
  set({ follow: false, from: middle - span / 2, span });
}

/** Zooms about a moment; while following, the right edge stays at now. `factor` < 1 shows less. */
export function zoom(factor: number, about?: number): void {
  const s = get();
  const span = Math.min(MOST_SPAN, Math.max(LEAST_SPAN, s.span * factor));
  if (s.follow) {
    set({ span });
    return;
  }
  const at = about ?? s.from + s.span / 2;
  set({ span, from: at - ((at - s.from) / s.span) * span });
}

/** Moves the window by a share of its width; ends following. */
export function pan(share: number): void {
  const { from, to } = windowOf(get());
  show({ from: from + share * (to - from), to: to + share * (to - from) });
}

/** A young job: no wider than what it has done so far. Only where nobody has chosen a width. */
export function suitYoungJob(firstNs: number | null): void {
  const { follow, span } = get();
  if (firstNs === null || !follow || span !== DEFAULT_SPAN) return;
  const age = (nowNs() - firstNs) * 1.1;
  if (age < span) set({ span: Math.max(YOUNG, Math.ceil(age / YOUNG) * YOUNG) });
}

export function setFollow(follow: boolean): void {
  set(follow ? { follow } : { follow, from: windowOf(get()).from });
}

/** `place`: where it lies, if the caller knows; the keys `f`, `.` and `,` need it. */
export function select(task: TaskRef | null, place: Place | null = null): void {
  set({ selected: task, place, ...(place ? { lane: place.lane_id } : {}) });
}

/** Scrolls, unfolds where it isn't shown, and moves the window (zooms where that isn't enough) so that a place is seen. */
export function reveal(place: Place): void {
  set((s) => ({ lane: place.lane_id, wanted: { lane_id: place.lane_id, n: (s.wanted?.n ?? 0) + 1 } }));
  const { from, to } = windowOf(get());
  const span = to - from;
  const long = place.to_ns - place.from_ns;
  const readable = long >= span * 0.01 && long <= span * 0.9;
  const inside = place.from_ns >= from && place.to_ns <= to;
  const fillsIt = place.from_ns < to && place.to_ns > from && long > span;
  if ((inside && readable) || fillsIt) return;
  if (readable) {
    const middle = (place.from_ns + place.to_ns) / 2;
    show({ from: middle - span / 2, to: middle + span / 2 });
  } else showAround(place.from_ns, place.to_ns, 0.3);
}

/** Fits the window to the selection, to the newest step, or to all that is held. */
export function fit(what: "selection" | "step" | "all" = get().place ? "selection" : "step"): void {
  const { jobId, place } = get();
  if (what === "selection" && place) {
    showAround(place.from_ns, place.to_ns, 0.1);
    return;
  }
  const { steps, timeline_jobs } = useCluster.getState().rows;
  if (what !== "all") {
    const { from, to } = windowOf(get());
    const mine = [...steps.values()].filter((step) => step.job_id === jobId);
    const seen = mine.filter((step) => step.start_ns < to && (step.end_ns ?? nowNs()) > from);
    const last = (seen.length > 0 ? seen : mine).sort((a, b) => b.start_ns - a.start_ns)[0];
    if (last) {
      showAround(last.start_ns, last.end_ns ?? nowNs(), 0.03);
      return;
    }
  }
  const row = jobId === null ? undefined : timeline_jobs.get(jobId);
  if (row?.first_ns != null) showAround(row.first_ns, Math.max(row.last_ns ?? 0, row.running > 0 ? nowNs() : 0), 0.02);
}

function showAround(from: number, to: number, margin: number): void {
  const extra = Math.max(to - from, LEAST_SPAN / 2) * margin;
  show({ from: from - extra, to: to + extra });
}

export function setFold(laneId: string, open: boolean): void {
  set((s) => ({ folds: new Map(s.folds).set(laneId, open) }));
}

/** Opens what is above a lane. */
export function unfoldTo(laneId: string): void {
  const { lanes } = useCluster.getState().rows;
  const folds = new Map(get().folds);
  const seen = new Set<string>();
  let top = laneId;
  for (let id = lanes.get(laneId)?.parent_lane_id; id && !seen.has(id); id = lanes.get(id)?.parent_lane_id) {
    seen.add(id);
    folds.set(id, true);
    top = id;
  }
  const { only } = get();
  set({ folds, only: only === null || only.has(top) ? only : new Set(only).add(top) });
}

export const search = (q: string): void => set({ q });

/** Shows only these topmost lanes; null: all. */
export const showOnly = (only: ReadonlySet<string> | null): void => set({ only });
