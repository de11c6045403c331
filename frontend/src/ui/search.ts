// What is selected lives in the URL: `#/overview?job=…&state=paused,failed&actor=…&site=…`.
import { useNavigate, useSearch } from "@tanstack/react-router";

export interface ViewSearch {
  job?: string;
  state?: string;
  actor?: string;
  site?: string;
  /** The timeline's window: `from` and `to` in Unix ns; without them it follows live, `span` ms wide. */
  from?: string;
  to?: string;
  span?: string;
  /** Lanes folded or unfolded by hand, the topmost lanes shown, the task that is selected, the text searched for. */
  lanes?: string;
  only?: string;
  task?: string;
  q?: string;
  /** The debugger's session, its thread, the frame's place in the stack, the file that is read as `path:line`. */
  worker?: string;
  thread?: string;
  frame?: string;
  file?: string;
}

const NAMES = [
  "job",
  "state",
  "actor",
  "site",
  "from",
  "to",
  "span",
  "lanes",
  "only",
  "task",
  "q",
  "worker",
  "thread",
  "frame",
  "file",
] as const;

export function validateSearch(raw: Record<string, unknown>): ViewSearch {
  const search: ViewSearch = {};
  for (const name of NAMES) {
    const value = raw[name];
    if (typeof value === "string" && value !== "") search[name] = value;
  }
  return search;
}

/** Plain strings: an id such as 02000000 must never become a number. */
export const parseSearch = (text: string): Record<string, string> => Object.fromEntries(new URLSearchParams(text));

export function stringifySearch(search: Record<string, unknown>): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(search))
    if (typeof value === "string" && value !== "") params.set(name, value);
  const text = params.toString().replaceAll("%2C", ",").replaceAll("%3A", ":").replaceAll("%2F", "/");
  return text === "" ? "" : `?${text}`;
}

export const useViewSearch = (): ViewSearch => useSearch({ strict: false }) as ViewSearch;

/** Changes parts of the selection; `undefined` takes a part out. A change of selection is no step of the history. */
export function useChangeSearch(): (change: Partial<ViewSearch>) => void {
  const navigate = useNavigate();
  return (change) => {
    void navigate({ to: ".", search: ((old: ViewSearch) => ({ ...old, ...change })) as never, replace: true });
  };
}
