// The keys of the debugger. F-keys work everywhere on the page, single letters only where nothing is typed.
import { useEffect, useRef } from "react";
import { useCluster } from "../../api/stores";
import { detach, moreFrames, step, toggleBreakpoint, toLine } from "./actions";
import { goTo } from "./left/members";
import { sessionOf } from "./session";
import { selectFrame, useDebug } from "./state";

const TYPED = "input, textarea, select, [contenteditable], [role=menu], [role=dialog]";

export type Pressed =
  | "continue"
  | "pause"
  | "next"
  | "stepIn"
  | "stepOut"
  | "runTo"
  | "targets"
  | "detach"
  | "breakpoint"
  | "open"
  | "console"
  | "frameUp"
  | "frameDown"
  | "rankBefore"
  | "rankAfter";

export interface KeyLike {
  key: string;
  shiftKey: boolean;
  altKey: boolean;
  ctrlKey: boolean;
  metaKey: boolean;
}

/** What a key asks for; `typing`: the focus is where letters are text. */
export function pressed({ key, shiftKey, altKey, ctrlKey, metaKey }: KeyLike, typing: boolean): Pressed | null {
  const bare = !altKey && !ctrlKey && !metaKey;
  if (bare && !shiftKey) {
    if (key === "F5") return "continue";
    if (key === "F6") return "pause";
    if (key === "F9") return "breakpoint";
    if (key === "F10") return "next";
    if (key === "F11") return "stepIn";
    if (!typing && key === "o") return "open";
    if (!typing && key === "`") return "console";
  }
  if (bare && shiftKey) {
    if (key === "F5") return "detach";
    if (key === "F11") return "stepOut";
  }
  if ((ctrlKey || metaKey) && !altKey && !shiftKey) {
    if (key.toLowerCase() === "p") return "open";
    if (key === "F10") return "runTo";
    if (key === "F11") return "targets";
  }
  if (altKey && !ctrlKey && !metaKey && !shiftKey && !typing) {
    if (key === "ArrowUp") return "frameUp";
    if (key === "ArrowDown") return "frameDown";
    if (key === "ArrowLeft") return "rankBefore";
    if (key === "ArrowRight") return "rankAfter";
  }
  return null;
}

/** Where F9 sets a breakpoint, and where Ctrl+F10 runs to: the source pane says where its cursor is. */
export const cursor: { at: { path: string; line: number } | null } = { at: null };

function moveFrame(by: 1 | -1): void {
  const { shown } = useDebug.getState();
  if (!shown) return;
  const next = shown.index + by;
  if (shown.frames[next]) selectFrame(next);
  else if (by > 0) void moreFrames().then((some) => some && selectFrame(next));
}

/** The paused rank before or after the one that is looked at, over all places. */
function moveRank(by: 1 | -1): void {
  const sites = [...useCluster.getState().newest.paused.values()].sort((a, b) => a.since_ns - b.since_ns);
  const all = sites.flatMap((site) => site.members.map((member) => ({ site, member })));
  const { worker } = useDebug.getState();
  const at = all.findIndex(({ member }) => member.worker_id === worker);
  const next = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : (at + by + all.length) % all.length];
  if (next) goTo(next.site, next.member);
}

export function useDebuggerKeys({ onOpen }: { onOpen: () => void }): void {
  const latest = useRef(onOpen);
  latest.current = onOpen;
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (event.defaultPrevented) return;
      const target = event.target instanceof Element ? event.target : document.body;
      const what = pressed(event, target.closest(TYPED) !== null);
      if (what === null || (what === "open" && target.closest("[role=dialog]"))) return;
      event.preventDefault(); // F5 would load the page anew, F11 fill the screen
      if (event.repeat && what !== "next" && what !== "stepIn" && what !== "frameUp" && what !== "frameDown") return;
      const session = sessionOf(useDebug.getState().worker);
      if (what === "open") latest.current();
      else if (what === "console") document.getElementById("debugger-prompt")?.focus();
      else if (what === "frameUp") moveFrame(-1);
      else if (what === "frameDown") moveFrame(1);
      else if (what === "rankBefore") moveRank(-1);
      else if (what === "rankAfter") moveRank(1);
      else if (what === "detach") {
        if (session) void detach(session.worker_id);
      } else if (what === "breakpoint") {
        if (session && cursor.at) void toggleBreakpoint(session.breakpoints, cursor.at.path, cursor.at.line);
      } else if (what === "runTo") {
        if (cursor.at) void toLine("runTo", cursor.at.path, cursor.at.line);
      } else if (what === "targets") useDebug.setState({ targetsOpen: true });
      else void step(what);
    };
    window.addEventListener("keydown", listen);
    return () => window.removeEventListener("keydown", listen);
  }, []);
}
