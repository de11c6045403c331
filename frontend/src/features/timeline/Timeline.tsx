// Every task on its lane. What it shows lies in state.ts, what the hub says in api/; the canvas is drawn by stage.ts.
import { useEffect } from "react";
import { useLoaded, useTable, useTopic } from "../../api/hooks";
import { pickJob } from "../../api/jobs";
import type { TimelineJob } from "../../api/types.gen";
import { useWords } from "../../i18n";
import { useChangeSearch, useViewSearch } from "../../ui/search";
import { Alone, Loading, NoHub, NoJob, OnePanel, useNoHub } from "../../ui/states";
import { Bone } from "../../ui/widgets";
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
  const noHub = useNoHub(known);

  if (noHub) return <NoHub />;
  if (!loaded) return <Bones />;
  if (!job)
    return (
      <OnePanel testId="timeline-empty">
        <NoJob
          wanted={jobs.size === 0 ? undefined : wanted}
          onNewest={() => change({ job: undefined, task: undefined })}
        />
      </OnePanel>
    );
  if (!row || row.total === 0)
    return (
      <Alone title={words.timeline.noTasks} body={row?.note ?? words.timeline.noTasksBody} testId="timeline-empty" />
    );
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

/** The minimap first, then lanes from the top. */
function Bones() {
  return (
    <Loading className={s.loading}>
      <Bone width="100%" height={45} />
      {Array.from({ length: 16 }, (_, i) => (
        <div key={i} className={s.loadingRow}>
          <Bone width={90 + ((i * 37) % 70)} height={10} />
          <Bone width={`${30 + ((i * 53) % 60)}%`} height={16} />
        </div>
      ))}
    </Loading>
  );
}
