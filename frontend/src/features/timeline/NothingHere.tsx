import { useEffect, useState } from "react";
import type { TimelineJob } from "../../api/types.gen";
import { useWords } from "../../i18n";
import { Button } from "../../ui/widgets";
import { nowNs, setFollow, show, useTimeline, windowOf } from "./state";
import s from "./timeline.module.css";

/** Where the window shows no task of the job at all: says so, and leads back. Also where the marks can't be had. */
export function NothingHere({ job }: { job: TimelineJob }) {
  const { timeline: t } = useWords();
  const error = useTimeline((state) => state.error);
  const outside = useOutside(job);
  if (error)
    return (
      <div className={s.nothing} role="alert" data-testid="timeline-error">
        <b>{error.message}</b>
        {error.hint ? <span>{error.hint}</span> : null}
      </div>
    );
  if (!outside) return null;
  return (
    <div className={s.nothing} data-testid="timeline-nothing">
      <b>{t.nothingInRange}</b>
      <Button small onClick={() => toLastActivity(job)}>
        {t.lastActivity}
      </Button>
    </div>
  );
}

const lastOf = (job: TimelineJob) => (job.running + job.pending > 0 ? nowNs() : (job.last_ns ?? nowNs()));

/** Looked at each second: following live it may come about by itself. */
function useOutside(job: TimelineJob): boolean {
  const [outside, setOutside] = useState(false);
  useEffect(() => {
    const look = () => {
      const { from, to } = windowOf(useTimeline.getState());
      setOutside(job.first_ns !== null && (to <= job.first_ns || from >= lastOf(job)));
    };
    look();
    const stop = useTimeline.subscribe(look);
    const timer = window.setInterval(look, 1000);
    return () => {
      stop();
      window.clearInterval(timer);
    };
  }, [job]);
  return outside;
}

function toLastActivity(job: TimelineJob): void {
  if (job.running + job.pending > 0) {
    setFollow(true);
    return;
  }
  const { span } = useTimeline.getState();
  const last = lastOf(job);
  show({ from: last - span * 0.9, to: last + span * 0.1 });
}
