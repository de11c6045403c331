import type { Job } from "./types.gen";

const newestFirst = (a: Job, b: Job) => (b.start_ns ?? 0) - (a.start_ns ?? 0) || b.job_id.localeCompare(a.job_id);

/** Running jobs first, each newest first. */
export const sortJobs = (jobs: Iterable<Job>): Job[] =>
  [...jobs].sort((a, b) => Number(a.state === "finished") - Number(b.state === "finished") || newestFirst(a, b));

/** The job asked for; else the newest that runs, else the newest that ended. Undefined: no such job, or none at all. */
export function pickJob(jobs: ReadonlyMap<string, Job>, wanted: string | undefined): Job | undefined {
  return wanted === undefined ? sortJobs(jobs.values())[0] : jobs.get(wanted);
}
