// Keeps state and URL alike: the URL is read when it changes by itself, and written when the view has come to rest.
import { useEffect, useRef } from "react";
import { useChangeSearch, useViewSearch } from "../../ui/search";
import { lookUp, placeOfTask } from "./selection";
import { initialState, reveal, type TimelineState, useTimeline } from "./state";
import { readSearch, sameSearch, type TimelineSearch, writeSearch } from "./url";

const REST_MS = 250;

export function useUrl(jobId: string | null): void {
  const search = useViewSearch();
  const change = useChangeSearch();
  const latest = useRef(change);
  latest.current = change;
  /** What the URL said when it was last read or written. */
  const known = useRef<TimelineSearch | null>(null);
  const shownJob = useRef<string | null>(null);

  useEffect(() => {
    if (known.current && sameSearch(known.current, search)) return;
    known.current = search;
    useTimeline.setState({ ...readSearch(search), place: null });
  }, [search]);

  useEffect(() => {
    // Another job has other lanes and other times; the first one is that of the URL.
    if (shownJob.current !== null && jobId !== shownJob.current) {
      const { span } = useTimeline.getState();
      useTimeline.setState({ ...initialState(), span });
    }
    shownJob.current = jobId ?? shownJob.current;
    useTimeline.setState({ jobId });
  }, [jobId]);

  useEffect(() => {
    let timer: number | undefined;
    const write = () => {
      const next = writeSearch(useTimeline.getState());
      if (known.current && sameSearch(known.current, next)) return;
      known.current = next;
      latest.current(next);
    };
    const stop = useTimeline.subscribe((s, old) => {
      if (sameShown(s, old)) return;
      window.clearTimeout(timer);
      timer = window.setTimeout(write, REST_MS);
    });
    return () => {
      stop();
      window.clearTimeout(timer);
    };
  }, []);
}

const sameShown = (a: TimelineState, b: TimelineState) =>
  a.follow === b.follow &&
  a.from === b.from &&
  a.span === b.span &&
  a.folds === b.folds &&
  a.only === b.only &&
  a.selected === b.selected &&
  a.q === b.q;

/** A task that came by the URL is only an id: finds out where it lies, and shows it. */
export function usePlace(jobId: string | null, ready: boolean): void {
  const selected = useTimeline((s) => (s.place === null ? s.selected : null));
  useEffect(() => {
    if (!selected || jobId === null || !ready) return;
    let wanted = true;
    void lookUp(selected).then((task) => {
      const place = task && placeOfTask(task);
      if (!wanted || !place || useTimeline.getState().selected !== selected) return;
      useTimeline.setState({ place });
      reveal(place);
    });
    return () => {
      wanted = false;
    };
  }, [selected, jobId, ready]);
}
