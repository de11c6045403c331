import { Link } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { attachByLink } from "../../api/debug";
import { useTable } from "../../api/hooks";
import { reasonOfSite } from "../../api/paused";
import { useLink } from "../../api/stores";
import type { Actor, Node, PausedSite, PausedThread } from "../../api/types.gen";
import { type Catalog, useWords } from "../../i18n";
import { shortClass } from "../../ui/format";
import { Swatch } from "../../ui/Glyph";
import ui from "../../ui/ui.module.css";
import { Chip, Cut, cx, EmptyState, Since } from "../../ui/widgets";
import { placeOf, whoOf } from "./headline";
import s from "./paused.module.css";
import { mostCommon, nodeLabel } from "./tree";

interface Props {
  /** Sites of the job that is shown, and of the others. */
  mine: readonly PausedSite[];
  others: readonly PausedSite[];
  selected: string | undefined;
  onSelect: (site: PausedSite) => void;
}

/** Every paused place of the cluster, the job's own first. */
export function PausedPanel({ mine, others, selected, onSelect }: Props) {
  const words = useWords();
  const t = words.paused;
  const count = mine.length + others.length;
  const item = (site: PausedSite, foreign: boolean) => (
    <Site key={site.site_id} site={site} selected={site.site_id === selected} foreign={foreign} onSelect={onSelect} />
  );
  return (
    <aside className={cx(ui.panel, s.panel)} aria-label={t.title} data-testid="paused-panel">
      <header className={s.head}>
        <h2>{t.title}</h2>
        {count > 0 ? (
          <span className={ui.badge} data-tone="paused">
            {count}
          </span>
        ) : null}
      </header>
      {count === 0 ? <EmptyState title={t.empty} body={t.emptyBody} /> : null}
      <div className={s.list}>
        {mine.map((site) => item(site, false))}
        {others.length > 0 ? <h3 className={s.others}>{t.otherJobs}</h3> : null}
        {others.map((site) => item(site, true))}
      </div>
    </aside>
  );
}

interface SiteProps {
  site: PausedSite;
  selected: boolean;
  foreign: boolean;
  onSelect: (site: PausedSite) => void;
}

function Site({ site, selected, foreign, onSelect }: SiteProps) {
  const words = useWords();
  const t = words.paused;
  const ref = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (selected) ref.current?.scrollIntoView?.({ block: "nearest" });
  }, [selected]);
  const task = mostCommon(site.members.map((m) => m.task_name).filter((name) => name !== null));
  const kind = words.debugger.reasons[reasonOfSite(site) ?? ""] ?? t.kind[site.kind];
  const owner = ownerOf(site, useTable("actors"), words);
  const place = placeOf(site);
  const anonymous = useLink((link) => link.welcome?.role === "anonymous");
  return (
    <div className={s.site} data-testid="paused-site" data-site-id={site.site_id} data-selected={selected || undefined}>
      <button
        ref={ref}
        type="button"
        className={s.hit}
        aria-pressed={selected}
        title={t.select}
        onClick={() => onSelect(site)}
      >
        <Swatch tone={site.kind === "exception" ? "failed" : "paused"} size={22} />
        <span className={s.body}>
          <span className={s.first}>
            <b className={s.title}>{task ? t.title1(kind, task) : kind}</b>
            <Since ns={site.since_ns} className={cx(ui.dim, s.meta)} />
          </span>
          {place === null ? (
            <span className={ui.sec}>{t.placeUnknown}</span>
          ) : (
            <span className={s.place} title={site.file ?? undefined}>
              <span className={ui.mono}>{place}</span>
              {site.function ? (
                <>
                  {" "}
                  {t.inFunction} <span className={ui.mono}>{site.function}</span>
                </>
              ) : null}
            </span>
          )}
          {site.exception ? (
            <span className={s.exception} title={site.message ?? undefined}>
              <b>{site.exception}</b>
              {site.message ? <span className={s.message}>{site.message}</span> : null}
            </span>
          ) : null}
          {site.exception && site.message === null && anonymous ? (
            <span className={cx(ui.dim, s.meta)}>{t.messageHidden}</span>
          ) : null}
          {site.note ? <span className={s.note}>{site.note}</span> : null}
          <span className={s.chips}>
            {whoOf(site).map((who) => (
              <Chip key={who.group}>
                <b className={ui.cut}>{who.group ?? owner}</b>
                {who.ranks ? <Cut text={words.headline.ranks(who.ranks)} /> : null}
              </Chip>
            ))}
          </span>
        </span>
      </button>
      <Members site={site} all={selected} foreign={foreign} />
    </div>
  );
}

/** Who waits there, outside of groups: the driver, or actors by their class. */
function ownerOf(site: PausedSite, actors: ReadonlyMap<string, Actor>, words: Catalog): string {
  const loose = site.members.filter((m) => m.group === null);
  const classes = loose.map((m) => {
    const actor = m.actor_id ? actors.get(m.actor_id) : undefined;
    return m.worker_type === "driver"
      ? words.paused.driver
      : actor
        ? (actor.name ?? shortClass(actor.class_name))
        : null;
  });
  const known = [...new Set(classes.filter((name) => name !== null))];
  return known.length > 0 ? known.slice(0, 2).join(", ") : words.paused.threads(loose.length);
}

const FEW = 1;
const MANY = 16;

/** Job, node and pid: of one member, of all once selected, else a summary. */
function Members({ site, all, foreign }: { site: PausedSite; all: boolean; foreign: boolean }) {
  const words = useWords();
  const t = words.paused;
  const nodes = useTable("nodes");
  const actors = useTable("actors");
  const jobs = [...new Set(site.members.map((m) => m.job_id).filter((id) => id !== null))];
  const jobText = jobs.map((id) => t.job(id)).join(", ");
  if (site.members.length > FEW && !all) {
    const hosts = new Set(site.members.map((m) => m.node_id)).size;
    return (
      <p className={s.members}>
        {[jobText, t.threads(site.members.length), t.nodes(hosts)].filter(Boolean).join(" · ")}
      </p>
    );
  }
  const shown = site.members.slice(0, MANY);
  return (
    <ul className={s.members}>
      {foreign || site.members.length === 1 ? null : <li>{jobText}</li>}
      {shown.map((member) => {
        const text = memberText(member, { nodes, actors }, words, site.members.length === 1 || foreign ? jobText : "");
        return (
          <li key={`${member.worker_id} ${member.thread_id}`}>
            <Cut text={text} />
            <span className={ui.grow} />
            <Link
              to="/debugger"
              search={{ job: member.job_id ?? undefined, worker: member.worker_id } as never}
              className={s.debug}
              title={t.debugTitle(text)}
              data-testid="debug-link"
              onClick={() => attachByLink(member.worker_id)}
            >
              {t.debug}
            </Link>
          </li>
        );
      })}
      {site.members.length > shown.length ? <li>{t.more(site.members.length - shown.length)}</li> : null}
    </ul>
  );
}

interface Known {
  nodes: ReadonlyMap<string, Node>;
  actors: ReadonlyMap<string, Actor>;
}

function memberText(member: PausedThread, { nodes, actors }: Known, words: Catalog, jobText: string): string {
  const t = words.paused;
  const name = (member.actor_id ? actors.get(member.actor_id)?.name : null) ?? null;
  const who = member.worker_type === "driver" ? t.driver : member.rank === null ? name : t.rank(String(member.rank));
  const parts = [
    who,
    jobText,
    nodeLabel(member.node_id, nodes),
    t.pid(member.pid),
    member.attached ? t.attached : null,
  ];
  return parts.filter(Boolean).join(" · ");
}
