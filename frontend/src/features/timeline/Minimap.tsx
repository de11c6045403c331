import { useEffect, useMemo, useRef, useState } from "react";
import { useClock } from "../../api/clock";
import { useTable } from "../../api/hooks";
import type { TimelineJob } from "../../api/types.gen";
import { useWords } from "../../i18n";
import { pausesByLane, treeOf } from "./lanes";
import { OverviewMap } from "./overviewMap";
import s from "./timeline.module.css";
import { duration } from "./times";

export function Minimap({ job }: { job: TimelineJob }) {
  const { timeline: t } = useWords();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [map, setMap] = useState<OverviewMap | null>(null);
  const lanes = useTable("lanes");
  const all = useTable("pauses");
  const tree = useMemo(() => treeOf(lanes, job.job_id), [lanes, job.job_id]);
  const { pauses } = useMemo(() => pausesByLane(all.values(), tree), [all, tree]);
  useEffect(() => {
    if (!canvas.current) return;
    const made = new OverviewMap(canvas.current);
    setMap(made);
    return () => made.stop();
  }, []);
  useEffect(() => map?.update({ job, roots: tree.roots, pauses }), [map, job, tree, pauses]);
  // What still runs, or waits, reaches to now.
  const now = useClock((clock) => clock.now) * 1e6;
  const last = job.running + job.pending > 0 ? now : job.last_ns;
  const long = job.first_ns === null || last === null ? null : last - job.first_ns;
  return (
    <div className={s.minimap}>
      <div className={s.mapLabel}>
        <b>{long === null ? t.nothingYet : duration(Math.max(1e9, Math.round(long / 1e9) * 1e9))}</b>
        <span>{t.mapHint}</span>
      </div>
      <canvas ref={canvas} className={s.canvas} aria-label={t.map} role="img" data-testid="timeline-minimap" />
    </div>
  );
}
