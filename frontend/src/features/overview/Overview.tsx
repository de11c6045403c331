import { useCallback, useEffect, useMemo, useState } from "react";
import { useLoaded, useTable, useTopic } from "../../api/hooks";
import { pickJob } from "../../api/jobs";
import type { Job, PausedSite } from "../../api/types.gen";
import { useWords } from "../../i18n";
import { Icon } from "../../ui/Glyph";
import { useChangeSearch, useViewSearch } from "../../ui/search";
import { Loading, NoHub, NoJob, useNoHub } from "../../ui/states";
import ui from "../../ui/ui.module.css";
import { Bone, Button, cx } from "../../ui/widgets";
import { Details } from "./Details";
import { headline } from "./headline";
import { makeMarks } from "./marks";
import { Nodes, Sources } from "./Nodes";
import { Now } from "./Now";
import s from "./overview.module.css";
import { PausedPanel } from "./PausedPanel";
import { StateCounts } from "./StateCounts";
import { Tree } from "./Tree";

export function Overview() {
  useTopic("topology");
  useTopic("paused");
  const loaded = useLoaded("topology");
  const noHub = useNoHub(loaded);
  const jobs = useTable("jobs");
  const { job: wanted } = useViewSearch();
  const change = useChangeSearch();
  if (!loaded) return noHub ? <NoHub /> : <Bones />;
  const job = pickJob(jobs, wanted);
  if (job) return <JobView job={job} />;
  return (
    <div className={s.alone}>
      <Sources />
      <div className={ui.panel}>
        <NoJob
          wanted={jobs.size === 0 ? undefined : wanted}
          onNewest={() => change({ job: undefined, actor: undefined, site: undefined })}
        />
      </div>
      <Nodes />
    </div>
  );
}

function JobView({ job }: { job: Job }) {
  const words = useWords();
  const search = useViewSearch();
  const change = useChangeSearch();
  const allActors = useTable("actors");
  const allSites = useTable("paused");
  const nodes = useTable("nodes");
  const [drawer, setDrawer] = useState(false);

  const actors = useMemo(() => [...allActors.values()].filter((a) => a.job_id === job.job_id), [allActors, job.job_id]);
  const { mine, others } = useMemo(() => splitSites([...allSites.values()], job.job_id), [allSites, job.job_id]);
  const site = search.site === undefined ? undefined : mine.find((m) => m.site_id === search.site);
  const { state, actor } = search;
  const marks = useMemo(() => makeMarks({ state, actor }, site), [state, actor, site]);
  const line = useMemo(() => headline({ job, actors, sites: mine, nodes }, words), [job, actors, mine, nodes, words]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: the router's navigate is stable, the closure around it isn't
  const open = useCallback((id: string) => change({ actor: id }), []);
  useEffect(() => {
    if (search.site !== undefined) setDrawer(true);
  }, [search.site]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => event.key === "Escape" && setDrawer(false);
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, []);

  const select = (picked: PausedSite) => {
    if (picked.site_id === search.site) return change({ site: undefined });
    const jobId = picked.members.find((m) => m.job_id !== null)?.job_id;
    const foreign = !picked.members.some((m) => m.job_id === job.job_id);
    change({ site: picked.site_id, state: undefined, ...(foreign && jobId ? { job: jobId, actor: undefined } : {}) });
  };
  const count = mine.length + others.length;
  return (
    <div className={s.view} data-ended={job.state === "finished" || undefined}>
      <div className={s.left}>
        <Now line={line} job={job} />
        <Sources />
        <StateCounts actors={actors} states={marks.states}>
          <Button className={s.drawerButton} aria-expanded={drawer} onClick={() => setDrawer(!drawer)}>
            <Icon name="pause" size={14} />
            {words.paused.open(count)}
          </Button>
        </StateCounts>
        <Tree job={job} actors={actors} marks={marks} onOpen={open} />
        <Nodes />
        {actor === undefined ? null : (
          <Details actorId={actor} onClose={() => change({ actor: undefined })} onOpen={open} />
        )}
      </div>
      <div className={s.right} data-open={drawer || undefined}>
        <PausedPanel mine={mine} others={others} selected={search.site} onSelect={select} />
      </div>
    </div>
  );
}

/** Oldest first. A site with members of several jobs belongs to the one shown, with that job's members. */
function splitSites(sites: readonly PausedSite[], jobId: string): { mine: PausedSite[]; others: PausedSite[] } {
  const mine: PausedSite[] = [];
  const others: PausedSite[] = [];
  for (const site of [...sites].sort((a, b) => a.since_ns - b.since_ns)) {
    const members = site.members.filter((m) => m.job_id === jobId);
    if (members.length === 0) others.push(site);
    else mine.push(members.length === site.members.length ? site : { ...site, members });
  }
  return { mine, others };
}

/** The final geometry in grey. */
function Bones() {
  return (
    <Loading className={s.view}>
      <div className={s.left}>
        <Bone width="100%" height={62} />
        <Bone width={420} height={26} />
        <Bone width="100%" height={50} />
        <div className={s.columns}>
          {[8, 4].map((lines) => (
            <div key={lines} className={cx(ui.panel, s.bones)}>
              <Bone width={160} height={18} />
              {Array.from({ length: lines }, (_, i) => (
                <Bone key={i} width="100%" height={24} />
              ))}
            </div>
          ))}
        </div>
      </div>
      <div className={s.right}>
        <div className={cx(ui.panel, s.bones)}>
          <Bone width={100} height={18} />
          <Bone width="100%" height={60} />
        </div>
      </div>
    </Loading>
  );
}
