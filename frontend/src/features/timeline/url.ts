// The view in the URL: so that a link shows the same window, lanes and selection.
import type { ViewSearch } from "../../ui/search";
import { initialState, LEAST_SPAN, MOST_SPAN, type TimelineState } from "./state";

type Shown = Pick<TimelineState, "follow" | "from" | "span" | "folds" | "only" | "selected" | "q">;
export type TimelineSearch = Pick<ViewSearch, "from" | "to" | "span" | "lanes" | "only" | "task" | "q">;

const clamp = (span: number) => Math.min(MOST_SPAN, Math.max(LEAST_SPAN, span));
/** A lane's id holds names of the job: a comma there must not end it. */
const packed = (id: string) => id.replaceAll("%", "%25").replaceAll(",", "%2C");
const unpacked = (text: string) => text.replaceAll("%2C", ",").replaceAll("%25", "%");
const ids = (text: string | undefined) => (text ?? "").split(",").filter(Boolean);

function readTask(text: string | undefined): Shown["selected"] {
  const found = /^([0-9a-f]{48}):(\d{1,6})$/.exec(text ?? "");
  return found ? { task_id: found[1] as string, attempt: Number(found[2]) } : null;
}

export function readSearch(search: TimelineSearch): Shown {
  const [from, to, span] = [Number(search.from), Number(search.to), Number(search.span) * 1e6];
  const fixed = from > 0 && to > from;
  const initial = initialState();
  return {
    follow: !fixed,
    from: fixed ? from : initial.from,
    span: fixed ? clamp(to - from) : span > 0 ? clamp(span) : initial.span,
    folds: new Map(
      ids(search.lanes).map((id) => (id.startsWith("-") ? [unpacked(id.slice(1)), false] : [unpacked(id), true])),
    ),
    only: search.only === undefined ? null : new Set(ids(search.only).map(unpacked)),
    selected: readTask(search.task),
    q: search.q ?? "",
  };
}

export function writeSearch(s: Shown): TimelineSearch {
  const initial = initialState();
  const lanes = [...s.folds].map(([id, open]) => `${open ? "" : "-"}${packed(id)}`).join(",");
  return {
    from: s.follow ? undefined : String(Math.round(s.from)),
    to: s.follow ? undefined : String(Math.round(s.from + s.span)),
    span: s.follow && s.span !== initial.span ? String(Math.round(s.span / 1e6)) : undefined,
    lanes: lanes || undefined,
    only: s.only ? [...s.only].map(packed).join(",") : undefined,
    task: s.selected ? `${s.selected.task_id}:${s.selected.attempt}` : undefined,
    q: s.q || undefined,
  };
}

export const sameSearch = (a: TimelineSearch, b: TimelineSearch): boolean =>
  (["from", "to", "span", "lanes", "only", "task", "q"] as const).every((name) => (a[name] ?? "") === (b[name] ?? ""));
