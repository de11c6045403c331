import * as Menu from "@radix-ui/react-dropdown-menu";
import { useSince } from "../api/clock";
import { useTable } from "../api/hooks";
import { pickJob, sortJobs } from "../api/jobs";
import type { Job } from "../api/types.gen";
import { useWords } from "../i18n";
import { formatDuration, shortCommand } from "../ui/format";
import { Icon, Swatch } from "../ui/Glyph";
import { useChangeSearch, useViewSearch } from "../ui/search";
import ui from "../ui/ui.module.css";
import { Cut, cx } from "../ui/widgets";
import s from "./shell.module.css";

const toneOf = (job: Job) => (job.state === "running" ? ("running" as const) : ("dead" as const));

export function JobSelect() {
  const words = useWords();
  const jobs = useTable("jobs");
  const { job: wanted } = useViewSearch();
  const change = useChangeSearch();
  const job = pickJob(jobs, wanted);
  const t = words.job;
  return (
    <Menu.Root>
      <Menu.Trigger
        className={cx(ui.control, s.job)}
        data-testid="job-select"
        data-job-id={job?.job_id}
        disabled={jobs.size === 0}
        aria-label={t.label}
      >
        {job ? (
          <JobLine job={job} />
        ) : (
          <span className={ui.dim}>{wanted === undefined || jobs.size === 0 ? t.none : t.unknown(wanted)}</span>
        )}
        <Icon name="chevron" size={14} />
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Content className={ui.menu} align="start" sideOffset={4}>
          <Menu.Label className={ui.menuLabel}>{t.newest}</Menu.Label>
          <Menu.RadioGroup
            value={job?.job_id ?? ""}
            onValueChange={(id) => change({ job: id, actor: undefined, site: undefined, state: undefined })}
          >
            {sortJobs(jobs.values()).map((one) => (
              <Menu.RadioItem key={one.job_id} value={one.job_id} className={ui.menuItem} data-job-id={one.job_id}>
                <JobLine job={one} />
              </Menu.RadioItem>
            ))}
          </Menu.RadioGroup>
        </Menu.Content>
      </Menu.Portal>
    </Menu.Root>
  );
}

function JobLine({ job }: { job: Job }) {
  const words = useWords();
  const t = words.job;
  const running = job.state === "running";
  const elapsed = useSince(running ? job.start_ns : null);
  const took = job.start_ns !== null && job.end_ns !== null ? (job.end_ns - job.start_ns) / 1e6 : null;
  const ms = running ? elapsed : took;
  return (
    <>
      <Swatch tone={toneOf(job)} size={16} />
      <b className={ui.nowrap}>{running ? t.running : t.finished}</b>
      {ms === null ? null : (
        <span className={cx(ui.dim, ui.num, ui.nowrap)}>
          {running ? formatDuration(ms, words.units) : t.endedAfter(formatDuration(ms, words.units))}
        </span>
      )}
      <span className={s.ruleSmall} />
      <Cut mono text={shortCommand(job.entrypoint) || t.noEntrypoint} title={job.entrypoint} className={s.entrypoint} />
      <span className={cx(ui.dim, ui.mono)}>{job.job_id}</span>
    </>
  );
}
