import { useTable } from "../../../api/hooks";
import { reasonOfSite } from "../../../api/paused";
import type { PausedSite, PausedThread } from "../../../api/types.gen";
import { useWords } from "../../../i18n";
import { baseName } from "../../../ui/format";
import { Swatch } from "../../../ui/Glyph";
import ui from "../../../ui/ui.module.css";
import { CopyCommand, Cut, cx, Since } from "../../../ui/widgets";
import s from "../left.module.css";
import { useRight, useSessions } from "../session";
import { useDebug } from "../state";
import { goTo, nameOf } from "./members";

const MOST_CHIPS = 64;

/** Paused places, each with its ranks; a click on one attaches to it, a click on the place to its first. */
export function Places() {
  const words = useWords();
  const t = words.debugger;
  const sites = [...useTable("paused").values()].sort((a, b) => a.since_ns - b.since_ns);
  const count = sites.reduce((sum, site) => sum + site.members.length, 0);
  return (
    <section className={s.section} aria-label={t.paused} data-testid="places">
      <header className={s.head}>
        <h2>{t.paused}</h2>
        {count > 0 ? (
          <span className={ui.badge} data-tone="paused">
            {count}
          </span>
        ) : null}
        <span className={ui.dim}>{sites.length > 0 ? t.places(sites.length) : ""}</span>
      </header>
      {sites.length === 0 ? (
        <div className={s.nothing}>
          <b>{t.emptyTitle}</b>
          <p>{t.emptyBody}</p>
          <CopyCommand command={t.emptyCommand} />
          <p>{t.emptyCrash}</p>
          <CopyCommand command={t.emptyCrashCommand} />
        </div>
      ) : null}
      {sites.map((site) => (
        <Place key={site.site_id} site={site} />
      ))}
    </section>
  );
}

function Place({ site }: { site: PausedSite }) {
  const { debugger: t } = useWords();
  const worker = useDebug((state) => state.worker);
  const threadId = useDebug((state) => state.threadId);
  const session = useSessions().get(worker ?? "");
  const sites = useTable("paused");
  /** The thread that is looked at stands here: the place tells, where the worker has several. */
  const isOn = (member: PausedThread) => {
    if (member.worker_id !== worker) return false;
    const thread = session?.threads.find((one) => one.threadId === threadId);
    if (member.session_thread_id != null) return member.session_thread_id === threadId;
    if (thread?.os_thread_id != null && member.thread_id !== null) return thread.os_thread_id === member.thread_id;
    const all = [...sites.values()].flatMap((one) => one.members).filter((one) => one.worker_id === worker);
    if (!thread || thread.file === null || all.length === 1) return true;
    if (thread.file !== site.file || thread.line !== site.line) return false;
    const here = site.members.filter((one) => one.worker_id === worker);
    return here.length === 1 || (member.task_id ?? member.thread_name) === (thread.task_id ?? thread.name);
  };
  const selected = site.members.some(isOn);
  const place = site.file === null ? t.placeUnknown : `${baseName(site.file)}:${site.line ?? "?"}`;
  const groups = [...new Set(site.members.map((one) => one.group).filter((one) => one !== null))];
  const failed = site.kind === "exception";
  const shown = site.members.slice(0, MOST_CHIPS);
  const right = useRight();
  const what = [
    site.exception ?? t.reasons[reasonOfSite(site) ?? ""] ?? t.kinds[site.kind],
    site.exception ? t.postMortem : null,
    ...groups,
  ]
    .filter(Boolean)
    .join(" · ");
  const first = site.members.find(isOn) ?? site.members[0];
  return (
    <div className={s.place} data-selected={selected || undefined} data-testid="place" data-site-id={site.site_id}>
      <div className={s.first}>
        <Swatch tone={failed ? "failed" : "paused"} />
        <button
          type="button"
          className={cx(ui.mono, ui.cut, s.open)}
          data-testid="place-open"
          aria-label={first ? t.openPlace(place, nameOf(first, t)) : place}
          title={[site.file ?? place, what, right === "act" ? "" : t.askDebugger].filter(Boolean).join("\n")}
          onClick={() => first && goTo(site, first)}
        >
          {place}
        </button>
        <span className={ui.grow} />
        <Since ns={site.since_ns} className={cx(ui.dim, s.meta)} />
      </div>
      <div className={s.second}>
        <Cut text={what} />
      </div>
      <div className={s.chips}>
        {shown.map((member) => (
          <MemberChip key={`${member.worker_id} ${member.thread_id}`} site={site} member={member} on={isOn(member)} />
        ))}
        {site.members.length > shown.length ? (
          <span className={ui.dim}>{t.moreMembers(site.members.length - shown.length)}</span>
        ) : null}
      </div>
      {site.note ? <p className={s.note}>{site.note}</p> : null}
    </div>
  );
}

function MemberChip({ site, member, on }: { site: PausedSite; member: PausedThread; on: boolean }) {
  const { debugger: t } = useWords();
  const right = useRight();
  const session = useSessions().get(member.worker_id);
  const attached = session !== undefined && session.state !== "ended" && session.state !== "failed";
  const who = nameOf(member, t);
  const title = attached ? t.attachedTo(who) : who;
  return (
    <button
      type="button"
      className={s.chip}
      aria-current={on || undefined}
      aria-label={title}
      data-attached={attached || undefined}
      data-testid="place-member"
      data-worker-id={member.worker_id}
      data-rank={member.rank ?? ""}
      title={right === "act" ? title : `${title}. ${t.askDebugger}`}
      onClick={() => goTo(site, member)}
    >
      {member.rank ?? who}
    </button>
  );
}
