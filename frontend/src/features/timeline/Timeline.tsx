// Every task on its lane. What it shows lies in state.ts, what the hub says in api/; the canvas is drawn by stage.ts.
import { useEffect } from "react";
import { useLoaded, useTable, useTopic } from "../../api/hooks";
import { pickJob } from "../../api/jobs";
import { linkState, useLink } from "../../api/stores";
import type { TimelineJob } from "../../api/types.gen";
import { useWords } from "../../i18n";
import { useChangeSearch, useViewSearch } from "../../ui/search";
import ui from "../../ui/ui.module.css";
import { Bone, Button, CopyCommand, EmptyState, useAfter } from "../../ui/widgets";
import { Lanes } from "./Lanes";
import { Minimap } from "./Minimap";
import { NothingHere } from "./NothingHere";
import { Details, ToolRow } from "./panel";
import { Said } from "./Said";
import { suitYoungJob } from "./state";
import { Tooltip } from "./Tooltip";
import s from "./timeline.module.css";
import { usePlace, useUrl } from "./useUrl";

export function Timeline() {
  const words = useWords();
  useTopic("topology");
  useTopic("paused");
  useTopic("timeline");
  const known = useLoaded("topology");
  const loaded = useLoaded("timeline") && known;
  const jobs = useTable("jobs");
  const rows = useTable("timeline_jobs");
  const { job: wanted } = useViewSearch();
  const change = useChangeSearch();
  const job = pickJob(jobs, wanted);
  const row = job && rows.get(job.job_id);
  useUrl(job?.job_id ?? null);
  usePlace(job?.job_id ?? null, row !== undefined);
  const offline = useLink((link) => linkState(link, known) === "offline" && (link.stale || !link.online));

  if (!known && offline) return <Alone title={words.link.noHub} body={words.link.noHubHint} />;
  if (!loaded) return <Loading />;
  if (!job)
    return wanted === undefined || jobs.size === 0 ? (
      <Alone title={words.job.emptyTitle} body={words.job.emptyBody}>
        <CopyCommand command={words.job.emptyCommand} />
      </Alone>
    ) : (
      <Alone title={words.job.unknown(wanted)}>
        <Button onClick={() => change({ job: undefined, task: undefined })}>{words.job.showNewest}</Button>
      </Alone>
    );
  if (!row || row.total === 0)
    return <Alone title={words.timeline.noTasks} body={row?.note ?? words.timeline.noTasksBody} />;
  return <JobTimeline row={row} />;
}

function JobTimeline({ row }: { row: TimelineJob }) {
  const { timeline: t } = useWords();
  // biome-ignore lint/correctness/useExhaustiveDependencies: once a job: it must not go on changing under one's eyes
  useEffect(() => suitYoungJob(row.first_ns), [row.job_id]);
  return (
    <section className={s.view} aria-label={t.title} data-testid="timeline">
      <ToolRow />
      <Minimap job={row} />
      <div className={s.middle}>
        <Lanes job={row} />
        <NothingHere job={row} />
      </div>
      <Details />
      <Tooltip />
      <Said />
    </section>
  );
}

function Alone({ title, body, children }: { title: string; body?: string; children?: React.ReactNode }) {
  return (
    <div className={s.alone} data-testid="timeline-empty">
      <div className={ui.panel}>
        <EmptyState title={title} body={body}>
          {children}
        </EmptyState>
      </div>
    </div>
  );
}

/** The minimap first, then lanes from the top; nothing for what comes at once. */
function Loading() {
  const late = useAfter(300);
  return late ? (
    <div className={s.loading} data-testid="loading">
      <Bone width="100%" height={45} />
      {Array.from({ length: 16 }, (_, i) => (
        <div key={i} className={s.loadingRow}>
          <Bone width={90 + ((i * 37) % 70)} height={10} />
          <Bone width={`${30 + ((i * 53) % 60)}%`} height={16} />
        </div>
      ))}
    </div>
  ) : null;
}
