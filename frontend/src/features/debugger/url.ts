// The debugger's part of the URL: a link opens the same worker, thread, frame and file.
import type { ViewSearch } from "../../ui/search";

export interface Place {
  worker: string | null;
  threadId: number | null;
  /** The frame's place in the stack; null: the one that the hub shows first. */
  frame: number | null;
  /** A file that is read, if it isn't the frame's. */
  view: { path: string; line: number } | null;
}

export type DebuggerSearch = Pick<ViewSearch, "worker" | "thread" | "frame" | "file">;

const whole = (text: string | undefined): number | null =>
  text !== undefined && /^\d{1,15}$/.test(text) ? +text : null;

export function readPlace(search: DebuggerSearch): Place {
  const worker = search.worker && /^[0-9a-zA-Z_.-]{1,80}$/.test(search.worker) ? search.worker : null;
  const cut = search.file?.lastIndexOf(":") ?? -1;
  const line = whole(search.file?.slice(cut + 1));
  const view = search.file && cut > 0 && line !== null ? { path: search.file.slice(0, cut), line } : null;
  return { worker, threadId: whole(search.thread), frame: whole(search.frame), view };
}

export const writePlace = (place: Place): DebuggerSearch => ({
  worker: place.worker ?? undefined,
  thread: place.threadId?.toString(),
  frame: place.frame === null || place.worker === null ? undefined : String(place.frame),
  file: place.view ? `${place.view.path}:${place.view.line}` : undefined,
});

export const samePlace = (a: DebuggerSearch, b: DebuggerSearch): boolean =>
  a.worker === b.worker && a.thread === b.thread && a.frame === b.frame && a.file === b.file;
