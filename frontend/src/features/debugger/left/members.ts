// Going to a rank of a paused place.
import { useCluster } from "../../../api/stores";
import type { PausedSite, PausedThread } from "../../../api/types.gen";
import { attach } from "../actions";
import { threadAt } from "../follow";
import { rightNow, sessionOf } from "../session";
import { select, useDebug } from "../state";

/** Selects it, and attaches where nobody is yet. */
export function goTo(site: PausedSite, member: PausedThread): void {
  const session = sessionOf(member.worker_id);
  const thread = session && threadAt(session, site, member);
  select(member.worker_id, thread?.threadId ?? null);
  useDebug.setState((s) => ({ view: null, reveals: s.reveals + 1 }));
  const gone = !session || session.state === "ended" || (session.state === "failed" && session.held_by === null);
  if (gone && rightNow() === "act") void attach(member.worker_id);
}

export interface Who {
  group: string | null;
  rank: number | null;
  worker_type: "driver" | "worker";
  actor_id: string | null;
  pid: number;
}

/** "actor_rollout rank 3", "driver", an actor's name, else its pid: in words that the caller has. */
export function nameOf(
  who: Who,
  words: { driver: string; rank: (rank: number) => string; pid: (pid: number) => string },
): string {
  if (who.rank !== null) return [who.group, words.rank(who.rank)].filter(Boolean).join(" ");
  if (who.worker_type === "driver") return words.driver;
  const actor = who.actor_id === null ? undefined : useCluster.getState().newest.actors.get(who.actor_id);
  const name = actor?.name ?? actor?.class_name.slice(actor.class_name.lastIndexOf(".") + 1);
  return name ? `${name} ${words.pid(who.pid)}` : words.pid(who.pid);
}
