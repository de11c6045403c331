// What an actor does, in the words of the page. The hub says null where it is alive and nothing can say more.
import type { Actor, ActorState } from "../../api/types.gen";
import type { Catalog } from "../../i18n";

export type ShownState = ActorState | "unknown";

export const stateOf = ({ state }: { state: ActorState | null }): ShownState => state ?? "unknown";

/** The method that runs, or how many do (threaded and async actors); null: none, or nothing can say. */
export function methodOf({ task_name, methods_running }: Actor, words: Catalog): string | null {
  const many = methods_running ?? 0;
  if (many > 1 || (task_name === null && many > 0)) return words.actor.inMethods(many);
  return task_name;
}

export const doingOf = (actor: Actor, words: Catalog): string =>
  methodOf(actor, words) ?? words.state[stateOf(actor)].toLowerCase();
