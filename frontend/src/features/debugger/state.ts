// What the debugger's page shows, beside the rows of the stream.
import { create } from "zustand";
import type { ExceptionInfo, Frame, Scope, SourceText } from "../../api/types.gen";
import type { Pages } from "./tree";
import type { Place } from "./url";

/** The newest answer of a look: a stack, and what is in one of its frames. Stays until the next one is there. */
export interface Shown {
  worker: string;
  threadId: number;
  stop: number;
  epoch: string;
  frames: readonly Frame[];
  total: number;
  /** Place of the frame in `frames`; -1: none. */
  index: number;
  scopes: readonly Scope[];
  exception: ExceptionInfo | null;
}

export type Source = { text: SourceText } | { error: string } | "loading";

export interface Notice {
  text: string;
  number: number;
}

export interface DebugState extends Place {
  /** The stop that is being looked at; another one is shown from its top. */
  at: string | null;
  seen: number;
  shown: Shown | null;
  lookError: string | null;
  /** Grows when values may have changed without a step. */
  edits: number;
  pages: Pages;
  open: ReadonlySet<string>;
  scope: string;
  sources: ReadonlyMap<string, Source>;
  tabs: readonly string[];
  /** Grows when the place in the source is to be scrolled to, though it may be the same. */
  reveals: number;
  allThreads: boolean;
  notice: Notice | null;
  /** The menu of the calls to step into. */
  targetsOpen: boolean;
  /** What is looked into in the panel of arrays. */
  inspected: { name: string; expression: string } | null;
}

export const freshState = (): DebugState => ({
  worker: null,
  threadId: null,
  frame: null,
  view: null,
  at: null,
  seen: 0,
  shown: null,
  lookError: null,
  edits: 0,
  pages: new Map(),
  open: new Set(),
  scope: "",
  sources: new Map(),
  tabs: [],
  reveals: 0,
  allThreads: false,
  notice: null,
  targetsOpen: false,
  inspected: null,
});

export const useDebug = create<DebugState>(freshState);

const set = useDebug.setState;

/** Another session, or another thread of it. What was shown goes, unless it is the same. */
export function select(worker: string | null, threadId: number | null = null): void {
  const now = useDebug.getState();
  if (worker === now.worker && (threadId === null || threadId === now.threadId)) return;
  const other = worker !== now.worker;
  set({
    worker,
    threadId,
    frame: null,
    view: null,
    at: null,
    ...(other ? { seen: 0, shown: null, pages: new Map(), tabs: [], inspected: null } : {}),
    lookError: null,
    notice: null,
  });
}

export function selectFrame(index: number): void {
  set((s) => ({ frame: index, view: null, reveals: s.reveals + 1 }));
}

export function showFile(path: string, line: number): void {
  set((s) => ({ view: { path, line }, reveals: s.reveals + 1, tabs: withTab(s.tabs, path) }));
}

const MOST_TABS = 12;
export const withTab = (tabs: readonly string[], path: string): readonly string[] =>
  tabs.includes(path) ? tabs : [...tabs, path].slice(-MOST_TABS);

/** Closing the file that is read leads to the frame's; closing the frame's own leaves it open. */
export function closeTab(path: string): void {
  set((s) => ({
    tabs: s.tabs.filter((one) => one !== path),
    view: s.view?.path === path ? null : s.view,
  }));
}

/** A thread has come to a stop: a new one is shown from its top; the first one as the URL says. */
export function arrive(at: string, seen: number): void {
  set((s) => {
    if (s.at === at) return s.seen === seen ? s : { seen };
    const fresh = s.at === null;
    return { at, seen, lookError: null, reveals: s.reveals + 1, ...(fresh ? {} : { frame: null, view: null }) };
  });
}

export function toggle(path: string, open?: boolean): void {
  set((s) => {
    const next = new Set(s.open);
    if (open ?? !next.has(path)) next.add(path);
    else next.delete(path);
    return { open: next };
  });
}

let notices = 0;
export function notify(text: string | null): void {
  set({ notice: text === null ? null : { text, number: ++notices } });
}

export const edited = (): void => set((s) => ({ edits: s.edits + 1 }));
