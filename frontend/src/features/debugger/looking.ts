// Fetches what a stop has to show, and throws away what comes for another one.
import { useEffect, useRef } from "react";
import { askDebug, reasonOf } from "../../api/debug";
import { useLink } from "../../api/stores";
import type { DebugSession, DebugThread, Look } from "../../api/types.gen";
import { isStopped, newestStop } from "./follow";
import { withFormat } from "./format";
import { sessionOf, stopKey, threadOf, useBusy, useRight } from "./session";
import { arrive, edited, type Shown, type Source, useDebug, withTab } from "./state";
import { ofKey, PAGE, type Page, type Want, withAnswer } from "./tree";

/** Of the variables' tree: a step within a function keeps what is unfolded. */
export const scopeBase = (frameName: string, scopeName: string): string => `v:${scopeName}:${frameName}`;

const frameName = (shown: Pick<Shown, "frames" | "index">): string => shown.frames[shown.index]?.name ?? "";
export const shownFrame = (shown: Shown | null) => (shown ? (shown.frames[shown.index] ?? null) : null);

/** Whether a thread still stands at the stop that was asked about. */
function isNow(worker: string, threadId: number, at: string): boolean {
  const session = sessionOf(worker);
  const thread = session?.threads.find((one) => one.threadId === threadId);
  return session !== null && isStopped(thread) && stopKey(session, thread) === at;
}

/** So many frames at a time, as the hub tells them. */
export const FRAMES = 100;

async function look(session: DebugSession, thread: DebugThread, wanted: () => boolean): Promise<void> {
  const { worker_id: worker } = session;
  const { threadId, stop } = thread;
  const at = stopKey(session, thread);
  const ask = async (frameId?: number): Promise<Look | null> => {
    const answer = await askDebug(
      worker,
      "look",
      withFormat(frameId === undefined ? { threadId } : { threadId, frameId }),
    );
    return wanted() && answer.stop === stop && isNow(worker, threadId, at) ? answer : null;
  };
  try {
    const { frame, shown } = useDebug.getState();
    const known = shown?.epoch.startsWith(`${at}/`) && frame !== null ? shown.frames[frame]?.id : undefined;
    let answer = await ask(known);
    // A link names a frame by its place in the stack: its id is known only now.
    if (answer && frame !== null && known === undefined) {
      const missing = Math.min(frame + 1, answer.total_frames) - answer.frames.length;
      if (missing > 0) {
        const asked = { threadId, startFrame: answer.frames.length, levels: Math.max(FRAMES, missing) };
        const { stackFrames } = await askDebug(worker, "stackTrace", asked);
        if (!wanted()) return;
        answer = { ...answer, frames: [...answer.frames, ...stackFrames] };
      }
      const { frames, frame_id } = answer;
      const named = frames[frame]?.id;
      if (named !== undefined && named !== frame_id) {
        const other = await ask(named);
        answer = other && { ...other, frames };
      }
    }
    if (answer) take(worker, threadId, at, answer);
  } catch (error) {
    if (wanted() && isNow(worker, threadId, at)) useDebug.setState({ lookError: reasonOf(error) });
  }
}

function take(worker: string, threadId: number, at: string, answer: Look): void {
  useDebug.setState((s) => {
    const epoch = `${at}/${s.edits}`;
    // More of this stack may be held already.
    const before = s.shown?.epoch.startsWith(`${at}/`) ? s.shown.frames : [];
    const frames = before.length > answer.frames.length ? before : answer.frames;
    const index = frames.findIndex((one) => one.id === answer.frame_id);
    const shown: Shown = {
      worker,
      threadId,
      stop: answer.stop,
      epoch,
      frames,
      total: answer.total_frames,
      index,
      scopes: answer.scopes,
      exception: answer.exception,
    };
    const pages = new Map(s.pages);
    const first = answer.scopes[0];
    if (first && answer.variables) {
      const base = scopeBase(frameName(shown), first.name);
      pages.set(base, withAnswer(pages.get(base), ofKey(epoch, first.variablesReference), answer.variables));
    }
    const path = frames[index]?.path;
    const tabs = path ? withTab(s.tabs, path) : s.tabs;
    return { shown, pages: trimmed(pages), tabs, lookError: null };
  });
}

/** Trees that nobody has seen for long needn't be kept. */
const MOST_PAGES = 400;
const trimmed = (pages: Map<string, Page>): Map<string, Page> =>
  pages.size <= MOST_PAGES ? pages : new Map([...pages].slice(-MOST_PAGES / 2));

/** Asks for a page: the first one, or with `start` what comes after. */
export async function load(worker: string, want: Want, start = 0): Promise<void> {
  const before = useDebug.getState().pages.get(want.path);
  if (before?.busy && before.of === want.of) return;
  const put = (page: Page) =>
    useDebug.setState((s) => {
      const pages = new Map(s.pages);
      pages.delete(want.path);
      return { pages: pages.set(want.path, page) };
    });
  const held: Page = before ?? { of: want.of, variables: [], total: 0, busy: true, error: null };
  // Children of an earlier stop stay on the screen, marked as such, until the new ones are there.
  pending.add(pendingKey(want));
  if (before?.of === want.of) put({ ...held, busy: true });
  const mine = () => pending.delete(pendingKey(want));
  try {
    const args = withFormat({ variablesReference: want.reference, start, count: want.count });
    const answer = await askDebug(worker, "variables", args);
    mine();
    put(withAnswer(useDebug.getState().pages.get(want.path), want.of, answer));
  } catch (error) {
    mine();
    const reason = reasonOf(error);
    const page = useDebug.getState().pages.get(want.path);
    if (reason === null) {
      if (page) put({ ...page, busy: false }); // asked anew when the stream is back
      return;
    }
    const kept = page?.of === want.of ? page : { ...held, of: want.of, variables: [], total: 0 };
    put({ ...kept, busy: false, error: reason });
  }
}

const pending = new Set<string>();
const pendingKey = (want: Want): string => `${want.path} ${want.of}`;

/** Asks for what a tree lacks; once each. */
export function useWanted(worker: string | null, wanted: readonly Want[], allowed: boolean): void {
  const live = useLink((link) => link.phase === "live");
  useEffect(() => {
    if (worker === null || !live || !allowed) return;
    for (const want of wanted) if (!pending.has(pendingKey(want))) void load(worker, want);
  });
}

export const loadMore = (worker: string, path: string, epoch: string, reference: number): Promise<void> => {
  const start = useDebug.getState().pages.get(path)?.variables.length ?? 0;
  return load(worker, { path, reference, of: ofKey(epoch, reference), count: PAGE }, start);
};

/** Keeps `shown` at the newest stop of the thread that is looked at. */
export function useLooking(session: DebugSession | null): void {
  const right = useRight();
  const threadId = useDebug((s) => s.threadId);
  const seen = useDebug((s) => s.seen);
  const frame = useDebug((s) => s.frame);
  const edits = useDebug((s) => s.edits);
  const live = useLink((link) => link.phase === "live");
  const thread = threadOf(session, { threadId, seen });
  const stopped = isStopped(thread) && session ? stopKey(session, thread) : null;
  const newest = session ? newestStop(session) : 0;

  useEffect(() => {
    if (thread && thread.threadId !== threadId) useDebug.setState({ threadId: thread.threadId });
  }, [thread, threadId]);
  // Before the look, so that a new stop is asked for from its top.
  useEffect(() => {
    if (stopped !== null) arrive(stopped, newest);
  }, [stopped, newest]);
  // What a long evaluation changed is seen when it has come back; until then the thread answers nothing.
  const busy = useBusy(session, thread);
  const wasBusy = useRef(false);
  useEffect(() => {
    if (wasBusy.current && !busy) edited();
    wasBusy.current = busy;
  }, [busy]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the stop names session and thread; the others ask anew
  useEffect(() => {
    if (stopped === null || !session || !thread || right !== "act" || !live) return;
    let wanted = true;
    void look(session, thread, () => wanted);
    return () => {
      wanted = false;
    };
  }, [stopped, frame, edits, live, right]);
}

/** A file as the worker has it; asked for once, and again after a failure when it is opened anew. */
export async function fetchSource(worker: string, path: string): Promise<void> {
  const key = sourceKey(worker, path);
  const held = useDebug.getState().sources.get(key);
  if (held !== undefined && (held === "loading" || "text" in held)) return;
  const put = (source: Source) =>
    useDebug.setState((s) => ({ sources: new Map([...s.sources, [key, source] as const].slice(-MOST_SOURCES)) }));
  put("loading");
  try {
    put({ text: await askDebug(worker, "source", { path }) });
  } catch (error) {
    const reason = reasonOf(error);
    if (reason !== null) return put({ error: reason });
    useDebug.setState((s) => ({ sources: new Map([...s.sources].filter(([one]) => one !== key)) }));
  }
}

const MOST_SOURCES = 24;
export const sourceKey = (worker: string, path: string): string => `${worker}\n${path}`;
