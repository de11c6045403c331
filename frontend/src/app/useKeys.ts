import { useNavigate } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { pickJob } from "../api/jobs";
import { toggleFreeze, useCluster } from "../api/stores";
import { useChangeSearch, useViewSearch } from "../ui/search";

const OWN_KEYS = "input, textarea, select, [contenteditable], [role=menu], [role=dialog]";
const PRESSED_BY_SPACE = `${OWN_KEYS}, button:not([role=gridcell]), a`;

/** After `g`. */
const VIEWS: Record<string, "/overview" | "/timeline" | "/debugger"> = {
  o: "/overview",
  t: "/timeline",
  d: "/debugger",
};

interface Keys {
  onHelp: () => void;
  onEscape: () => void;
}

/** The keys that work everywhere. */
export function useKeys({ onHelp, onEscape }: Keys): void {
  const search = useViewSearch();
  const change = useChangeSearch();
  const navigate = useNavigate();
  const handler = useRef<(event: KeyboardEvent) => void>(() => undefined);
  const leader = useRef(0);

  handler.current = (event) => {
    const target = event.target instanceof Element ? event.target : document.body;
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    const busy = target.closest(event.key === " " ? PRESSED_BY_SPACE : OWN_KEYS);
    if (busy) return;
    const led = Date.now() - leader.current < 1000;
    leader.current = event.key === "g" ? Date.now() : 0;
    const view = led ? VIEWS[event.key] : undefined;
    if (view) {
      void navigate({ to: view, search: (search.job ? { job: search.job } : {}) as never });
    } else if (event.key === "?") onHelp();
    else if (event.key === " ") {
      event.preventDefault();
      toggleFreeze();
    } else if (event.key === "Escape") {
      onEscape();
      if (search.actor) change({ actor: undefined });
      else if (search.site) change({ site: undefined });
      else if (search.state) change({ state: undefined });
    } else if (event.key === "j" || event.key === "k") {
      const site = besideSite(search.job, search.site, event.key === "j" ? 1 : -1);
      if (site) change({ site, state: undefined });
    }
  };
  useEffect(() => {
    const listen = (event: KeyboardEvent) => handler.current(event);
    window.addEventListener("keydown", listen);
    return () => window.removeEventListener("keydown", listen);
  }, []);
}

/** The next or previous paused place of the job that is shown, oldest first, round and round. */
function besideSite(wanted: string | undefined, current: string | undefined, step: 1 | -1): string | undefined {
  const { rows } = useCluster.getState();
  const job = pickJob(rows.jobs, wanted)?.job_id;
  const sites = [...rows.paused.values()]
    .filter((site) => site.members.some((m) => m.job_id === job))
    .sort((a, b) => a.since_ns - b.since_ns)
    .map((site) => site.site_id);
  const at = current === undefined ? -1 : sites.indexOf(current);
  if (at < 0) return step > 0 ? sites[0] : sites.at(-1);
  return sites[(at + step + sites.length) % sites.length];
}
