// The one sentence: what needs a person now. Only facts; the worst first, by what it does to the job.
import type { Actor, Job, Node, PausedSite } from "../../api/types.gen";
import type { Catalog } from "../../i18n";
import { baseName, formatRanks, shortClass } from "../../ui/format";
import type { Tone } from "../../ui/glyphs";
import { mostCommon, oldest } from "./tree";

export interface Headline {
  tone: Tone;
  title: string;
  /** Where or why, in a few words. */
  detail: string;
  since: number | null;
  /** What else is wrong, less pressing. */
  also: { tone: Tone; text: string }[];
}

export interface Facts {
  job: Job;
  actors: readonly Actor[];
  /** Paused sites with members of this job. */
  sites: readonly PausedSite[];
  nodes: ReadonlyMap<string, Node>;
}

export const placeOf = (site: PausedSite): string | null =>
  site.file === null ? null : site.line === null ? baseName(site.file) : `${baseName(site.file)}:${site.line}`;

/** "actor_rollout 0–7, critic 3" of a site's members. */
export function whoOf(site: PausedSite): { group: string | null; ranks: string }[] {
  const groups = new Map<string | null, number[]>();
  for (const member of site.members) {
    const list = groups.get(member.group) ?? [];
    if (member.rank !== null) list.push(member.rank);
    groups.set(member.group, list);
  }
  return [...groups].map(([group, ranks]) => ({ group, ranks: formatRanks(ranks) }));
}

export function headline(facts: Facts, words: Catalog): Headline {
  const { job, actors } = facts;
  const found = [pausedFact(facts.sites, words), failedFact(actors, words), nodesFact(facts, words)].filter(
    (x) => x !== null,
  );
  if (job.state === "finished") {
    const failed = actors.filter((a) => a.state === "failed").length;
    const title = failed > 0 ? words.headline.finishedFailed(failed) : words.headline.finished;
    return {
      tone: failed > 0 ? "failed" : "dead",
      title,
      detail: failed > 0 ? cause(actors) : "",
      since: null,
      also: [],
    };
  }
  const pending = actors.filter((a) => a.state === "pending");
  if (pending.length > 0) {
    const title = words.headline.pending(pending.length);
    found.push({
      tone: "pending",
      title,
      detail: names(pending),
      since: oldest(pending.map((a) => a.since_ns)),
      also: [],
    });
  }
  const [first, ...rest] = found;
  if (first) return { ...first, also: rest.map(({ tone, title }) => ({ tone, text: title })) };
  return runningFact(actors, words);
}

function pausedFact(sites: readonly PausedSite[], words: Catalog): Headline | null {
  const [site] = sites;
  if (!site) return null;
  const t = words.headline;
  const base = { tone: "paused" as const, since: oldest(sites.map((s) => s.since_ns)), also: [] };
  if (sites.length > 1) {
    const count = sites.reduce((sum, s) => sum + s.members.length, 0);
    const detail = sites
      .map((s) => placeOf(s) ?? words.headline.unknownPlace)
      .slice(0, 3)
      .join(", ");
    return { ...base, title: t.pausedPlaces(count, sites.length), detail: t.at(detail) };
  }
  const place = placeOf(site);
  const who = whoOf(site)
    .filter((w) => w.group !== null)
    .map((w) => (w.ranks === "" ? w.group : `${w.group} ${words.headline.ranks(w.ranks)}`))
    .join(", ");
  const detail = [site.exception, place ? t.at(place) : "", who ? t.of(who) : ""].filter(Boolean).join(" ");
  if (site.members.length > 0 && site.members.every((m) => m.worker_type === "driver")) {
    return { ...base, title: site.kind === "exception" ? t.driverHeldException : t.driverHeld, detail };
  }
  const task = mostCommon(site.members.map((m) => m.task_name).filter((name) => name !== null));
  const what = task ?? site.function;
  if (what === null && place !== null)
    return { ...base, title: t.heldAt(site.members.length, place, site.kind), detail: who ? t.of(who) : "" };
  return what === null
    ? { ...base, title: t.pausedPlaces(site.members.length, 1), detail }
    : { ...base, title: t.held(what, site.kind), detail };
}

function failedFact(actors: readonly Actor[], words: Catalog): Headline | null {
  const failed = actors.filter((a) => a.state === "failed");
  if (failed.length === 0) return null;
  const since = oldest(failed.map((a) => a.since_ns ?? a.end_ns));
  return { tone: "failed", title: words.headline.failed(failed.length), detail: cause(actors), since, also: [] };
}

/** Nodes lost under this job: those that its actors were on. */
function nodesFact({ actors, nodes }: Facts, words: Catalog): Headline | null {
  const used = new Set(actors.map((a) => a.node_id));
  const lost = [...nodes.values()].filter((n) => !n.alive && used.has(n.node_id));
  if (lost.length === 0) return null;
  const detail = lost.find((n) => n.death_cause)?.death_cause ?? "";
  return {
    tone: "dead",
    title: words.headline.nodesLost(lost.map((n) => n.ip)),
    detail,
    since: oldest(lost.map((n) => n.end_ns)),
    also: [],
  };
}

function runningFact(actors: readonly Actor[], words: Catalog): Headline {
  const ranks = actors.filter((a) => a.group_id !== null);
  const busy = (ranks.length > 0 ? ranks : actors).filter((a) => a.state === "running" || a.state === "waiting");
  const method = mostCommon(busy.map((a) => a.task_name).filter((name) => name !== null));
  const base = { tone: "running" as const, also: [] };
  if (method === null) {
    const title = ranks.length > 0 && busy.length === 0 ? words.headline.idle : words.headline.plain;
    return { ...base, title, detail: "", since: null };
  }
  const same = busy.filter((a) => a.task_name === method);
  const detail = ranks.length > 0 ? words.headline.runningOn(same.length) : "";
  return { ...base, title: words.headline.running(method), detail, since: oldest(same.map((a) => a.since_ns)) };
}

const cause = (actors: readonly Actor[]): string =>
  firstLine(
    actors.find((a) => a.state === "failed" && a.death_cause)?.death_cause ??
      names(actors.filter((a) => a.state === "failed")),
  );

const firstLine = (text: string): string => text.split("\n").find((line) => line.trim() !== "") ?? "";

const names = (actors: readonly Actor[]): string =>
  [...new Set(actors.map((a) => shortClass(a.class_name)))].slice(0, 3).join(", ");
