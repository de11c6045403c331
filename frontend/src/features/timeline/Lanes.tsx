// Ruler, labels and canvas. React lays out; the stage draws.
import { useEffect, useMemo, useRef, useState } from "react";
import { useTable } from "../../api/hooks";
import { useCluster, useLink } from "../../api/stores";
import type { Pause, TimelineJob } from "../../api/types.gen";
import { useWords } from "../../i18n";
import { baseName, formatDuration, formatTime } from "../../ui/format";
import { useTimelineKeys } from "./keys";
import { Labels } from "./Labels";
import { pausesByLane, rowsOf, treeOf } from "./lanes";
import { place } from "./layout";
import { followPointer } from "./pointer";
import { Stage } from "./stage";
import { unfoldTo, useTimeline } from "./state";
import s from "./timeline.module.css";

const AROUND = 16;

export function Lanes({ job }: { job: TimelineJob }) {
  const words = useWords();
  const t = words.timeline;
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const ruler = useRef<HTMLCanvasElement>(null);
  const [stage, setStage] = useState<Stage | null>(null);
  const [seen, setSeen] = useState<[number, number]>([0, 60]);
  const [deep, setDeep] = useState(0);
  /** The most calls on top of each other that a lane ever showed: rows never jump back while one moves. */
  const depths = useRef(new Map<string, number>());

  const lanes = useTable("lanes");
  const allPauses = useTable("pauses");
  const allSteps = useTable("steps");
  const folds = useTimeline((state) => state.folds);
  const only = useTimeline((state) => state.only);
  const wanted = useTimeline((state) => state.wanted);
  const tree = useMemo(() => treeOf(lanes, job.job_id), [lanes, job.job_id]);
  const { pauses, paused } = useMemo(() => pausesByLane(allPauses.values(), tree), [allPauses, tree]);
  const rows = useMemo(() => rowsOf(tree, folds, only, paused), [tree, folds, only, paused]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `deep` says that the depths have changed
  const layout = useMemo(() => place(rows, (id) => depths.current.get(id) ?? 1), [rows, deep]);
  const steps = useMemo(
    () => [...allSteps.values()].filter((step) => step.job_id === job.job_id).sort((a, b) => a.start_ns - b.start_ns),
    [allSteps, job.job_id],
  );
  const frozen = useCluster((cluster) => cluster.frozenAt !== null);
  const stale = useLink((link) => link.stale);
  const hub = useLink((link) => link.welcome?.hub_id);

  // biome-ignore lint/correctness/useExhaustiveDependencies: one stage for as long as the words stay
  useEffect(() => {
    const [at, on, above] = [scroller.current, canvas.current, ruler.current];
    if (!at || !on || !above) return;
    const made = new Stage(
      { scroller: at, canvas: on, ruler: above },
      {
        now: t.now,
        heldFrom: t.nothingBefore,
        step: (step) => t.step(step.number, step.inferred),
        pause: (pause: Pause, end: number) =>
          t.paused(formatDuration((end - pause.start_ns) / 1e6, words.units), placeOf(pause), pause.exact),
      },
    );
    made.onRows = (first, last) =>
      setSeen((old) =>
        first < old[0] + 4 && old[0] > 0
          ? [first - AROUND, last + AROUND]
          : last > old[1] - 4 || first > old[0] + 2 * AROUND
            ? [first - AROUND, last + AROUND]
            : old,
      );
    made.onMarks = () => {
      let grown = false;
      for (const [id, { depth, bins }] of made.feed.held?.lanes ?? []) {
        const known = depths.current.get(id) ?? 1;
        const next = bins ? 1 : Math.max(depth, known);
        if (next === known) continue;
        depths.current.set(id, next);
        grown = true;
      }
      if (grown) setDeep((n) => n + 1);
    };
    setStage(made);
    const stopPointer = followPointer(made, on);
    return () => {
      stopPointer();
      made.stop();
    };
  }, [words]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: another hub, another job: other versions and depths
  useEffect(() => {
    depths.current.clear();
    stage?.feed.reset();
    stage?.invalidate();
  }, [stage, hub, job.job_id]);
  useEffect(() => {
    stage?.update({ job, layout, steps, pauses, held: frozen || stale });
  }, [stage, job, layout, steps, pauses, frozen, stale]);
  const done = useRef(0);
  useEffect(() => {
    if (!stage || !wanted || wanted.n === done.current || !lanes.has(wanted.lane_id)) return;
    if (!layout.rows.some(({ row }) => row.key === wanted.lane_id)) {
      unfoldTo(wanted.lane_id); // and once more when it is there
      return;
    }
    done.current = wanted.n;
    stage.scrollTo(wanted.lane_id);
  }, [stage, wanted, layout, lanes]);
  useTimelineKeys(stage);

  return (
    <div className={s.body}>
      <div className={s.rulerRow} aria-hidden="true">
        <div className={s.corner}>{t.corner}</div>
        <canvas ref={ruler} className={s.canvas} />
      </div>
      <div ref={scroller} className={s.scroller} data-testid="timeline-scroller">
        <div className={s.content} style={{ height: Math.max(layout.height, 1) }}>
          <Labels rows={layout.rows} first={Math.max(0, seen[0])} last={seen[1]} paused={paused} />
          <canvas
            ref={canvas}
            className={s.stage}
            role="img"
            aria-label={t.canvas(job.total, formatTime((job.first_ns ?? 0) / 1e6))}
            data-testid="timeline-canvas"
          />
        </div>
      </div>
      <Lost job={job} />
    </div>
  );
}

const placeOf = ({ file, line }: Pause) =>
  file === null ? null : `${baseName(file)}${line === null ? "" : `:${line}`}`;

/** What was lost on the way here: a dotted lane of its own. */
function Lost({ job }: { job: TimelineJob }) {
  const { timeline: t } = useWords();
  const { ray, agent, hub } = job.dropped;
  const lost = (ray ?? 0) + (agent ?? 0) + (hub ?? 0);
  if (lost === 0 && job.truncated === 0) return null;
  return (
    <div className={s.lost} data-testid="timeline-lost">
      {lost > 0 ? <span title={t.droppedBy(job.dropped)}>{t.dropped(lost)}</span> : null}
      {job.truncated > 0 ? <span>{t.truncated(job.truncated)}</span> : null}
    </div>
  );
}
