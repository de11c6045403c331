// How each actor is marked by what is selected: the filter by state, the paused site, the actor itself.
import type { Actor, PausedSite } from "../../api/types.gen";
import type { ViewSearch } from "../../ui/search";
import { stateOf } from "./doing";

export type Mark = "none" | "selected" | "hit" | "dim";

export interface Marks {
  states: ReadonlySet<string>;
  of(actor: Actor): Mark;
  ofDriver(workerId: string | null): Mark;
}

export function statesOf(search: ViewSearch): ReadonlySet<string> {
  return new Set((search.state ?? "").split(",").filter(Boolean));
}

export function makeMarks(search: ViewSearch, site: PausedSite | undefined): Marks {
  const states = statesOf(search);
  const workers = new Set(site?.members.map((m) => m.worker_id));
  const actors = new Set(site?.members.map((m) => m.actor_id));
  return {
    states,
    of(actor) {
      if (actor.actor_id === search.actor) return "selected";
      if (site) {
        const hit = actors.has(actor.actor_id) || (actor.worker_id !== null && workers.has(actor.worker_id));
        return hit ? "hit" : "dim";
      }
      return states.size > 0 && !states.has(stateOf(actor)) ? "dim" : "none";
    },
    ofDriver: (workerId) => (workerId !== null && workers.has(workerId) ? "hit" : "none"),
  };
}
