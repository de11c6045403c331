// What the page knows: the rows of the stream, and the state of the connection.
import { create } from "zustand";
import { holdClock, hubNow, learnClock } from "./clock";
import { applyPatch, emptyRows, type Rows } from "./tables";
import type { ErrorBody, Patch, Topic, Welcome } from "./types.gen";

interface Cluster {
  /** What the page shows: the newest rows, or those at the moment of the freeze. */
  rows: Rows;
  newest: Rows;
  loaded: ReadonlySet<Topic>;
  /** Hub's time in ms at which the view was frozen. */
  frozenAt: number | null;
}

export const useCluster = create<Cluster>(() => ({
  rows: emptyRows(),
  newest: emptyRows(),
  loaded: new Set<Topic>(),
  frozenAt: null,
}));

export function takePatch(patch: Patch): void {
  learnClock(patch.time_ns);
  useCluster.setState((s) => {
    const newest = applyPatch(s.newest, patch);
    const loaded = s.loaded.has(patch.topic) ? s.loaded : new Set([...s.loaded, patch.topic]);
    return { newest, loaded, rows: s.frozenAt === null ? newest : s.rows };
  });
}

export type SignIn = "ray" | "token";

interface Link {
  phase: "connecting" | "live" | "lost";
  /** Lost, or silent, for so long that what is shown may no longer be so. */
  stale: boolean;
  online: boolean;
  /** Local time in ms of the last message. */
  heardAt: number | null;
  roundTripMs: number | null;
  welcome: Welcome | null;
  /** Why the hub isn't reached, where it said so. */
  error: ErrorBody | null;
  signIn: SignIn | null;
}

export const useLink = create<Link>(() => ({
  phase: "connecting",
  stale: false,
  online: true,
  heardAt: null,
  roundTripMs: null,
  welcome: null,
  error: null,
  signIn: null,
}));

/** One word for the state of the stream: `offline` where there was never any data, or no network. */
export function linkState(s: Link, hasData: boolean): "live" | "stale" | "offline" {
  if (!s.online && s.phase !== "live") return "offline";
  if (s.stale) return hasData ? "stale" : "offline";
  return hasData || s.phase === "live" ? "live" : "offline";
}

function holdOrRun(): void {
  const { frozenAt } = useCluster.getState();
  const { stale, heardAt } = useLink.getState();
  holdClock(frozenAt ?? (stale && heardAt !== null ? hubNow(heardAt) : null));
}

export function setStale(stale: boolean): void {
  if (useLink.getState().stale === stale) return;
  useLink.setState({ stale });
  holdOrRun();
}

export function toggleFreeze(): void {
  useCluster.setState((s) => (s.frozenAt === null ? { frozenAt: hubNow() } : { frozenAt: null, rows: s.newest }));
  holdOrRun();
}
