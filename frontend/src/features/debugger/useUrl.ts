// Keeps state and URL alike: the URL is read when it changes by itself, and written when the state does.
import { useEffect, useRef } from "react";
import { useChangeSearch, useViewSearch } from "../../ui/search";
import { select, useDebug, withTab } from "./state";
import { type DebuggerSearch, readPlace, samePlace, writePlace } from "./url";

export function usePlaceInUrl(): void {
  const search = useViewSearch();
  const change = useChangeSearch();
  const latest = useRef(change);
  latest.current = change;
  /** What the URL said when it was last read or written. */
  const known = useRef<DebuggerSearch | null>(null);

  useEffect(() => {
    if (known.current && samePlace(known.current, search)) return;
    const first = known.current === null;
    known.current = search;
    const place = readPlace(search);
    // From another view back to this one: what was looked at last.
    if (first && place.worker === null && useDebug.getState().worker !== null) {
      const kept = writePlace(useDebug.getState());
      known.current = kept;
      latest.current(kept);
      return;
    }
    select(place.worker, place.threadId);
    useDebug.setState((s) => ({
      frame: place.frame ?? s.frame,
      view: place.view,
      tabs: place.view ? withTab(s.tabs, place.view.path) : s.tabs,
      reveals: s.reveals + 1,
    }));
  }, [search]);

  useEffect(
    () =>
      useDebug.subscribe((state, old) => {
        if (
          state.worker === old.worker &&
          state.threadId === old.threadId &&
          state.frame === old.frame &&
          state.view === old.view
        )
          return;
        const next = writePlace(state);
        if (known.current && samePlace(known.current, next)) return;
        known.current = next;
        latest.current(next);
      }),
    [],
  );
}
