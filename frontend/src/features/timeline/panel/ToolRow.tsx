import { useEffect, useMemo, useRef, useState } from "react";
import { hubNow, useClock } from "../../../api/clock";
import { useTable } from "../../../api/hooks";
import type { MarkState, TimelineJob } from "../../../api/types.gen";
import { useWords } from "../../../i18n";
import { Icon, StateGlyph } from "../../../ui/Glyph";
import ui from "../../../ui/ui.module.css";
import { Button, cx } from "../../../ui/widgets";
import { PHASES, phaseToken } from "../phases";
import { fit, setFollow, useTimeline } from "../state";
import { duration } from "../times";
import { jump } from "./jump";
import s from "./panel.module.css";
import { Search } from "./Search";

const OWN_KEYS = "input, textarea, select, [contenteditable], [role=menu], [role=dialog]";
const STATES: readonly MarkState[] = ["pending", "running", "finished", "failed", "paused"];

export function ToolRow() {
  const t = useWords().timelinePanel;
  const jobId = useTimeline((state) => state.jobId);
  const follow = useTimeline((state) => state.follow);
  const jobs = useTable("timeline_jobs");
  const row = jobId === null ? undefined : jobs.get(jobId);
  return (
    <div className={s.tools} data-testid="tool-row" role="toolbar" aria-label={t.tools}>
      <button
        type="button"
        role="switch"
        aria-checked={follow}
        className={s.follow}
        title={t.followTitle}
        onClick={() => setFollow(!follow)}
      >
        <span className={s.knob} aria-hidden="true" />
        {t.follow}
      </button>
      <Search />
      {row ? <Jumps row={row} /> : null}
      <Legend />
      <span className={ui.grow} />
      {row ? <Source row={row} /> : null}
      <Button small onClick={() => fit("step")} disabled={!row?.steps} title={t.fitStepTitle}>
        {t.fitStep}
      </Button>
      <Button small onClick={() => fit("all")}>
        {t.fitAll}
      </Button>
    </div>
  );
}

function Jumps({ row }: { row: TimelineJob }) {
  const t = useWords().timelinePanel;
  const pauses = useTable("pauses");
  const [said, setSaid] = useState("");
  const timer = useRef(0);
  const paused = useMemo(
    () => [...pauses.values()].filter((one) => one.job_id === row.job_id && one.end_ns === null).length,
    [pauses, row.job_id],
  );
  const nothing = row.failed === 0 && paused === 0;
  const go = async (by: 1 | -1) => {
    const how = await jump(by, hubNow() * 1e6).catch(() => "none" as const);
    setSaid(how === "found" ? "" : how === "wrapped" ? t.wrapped : t.noOther);
    window.clearTimeout(timer.current);
    timer.current = window.setTimeout(() => setSaid(""), 3000);
  };
  const act = useRef(go);
  act.current = go;
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      const target = event.target instanceof Element ? event.target : document.body;
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || target.closest(OWN_KEYS)) return;
      if (event.key === "n" || event.key === "N") {
        event.preventDefault();
        void act.current(event.key === "n" ? 1 : -1);
      }
    };
    window.addEventListener("keydown", listen);
    return () => {
      window.removeEventListener("keydown", listen);
      window.clearTimeout(timer.current);
    };
  }, []);
  return (
    <span className={s.jumps}>
      <span className={cx(s.count, ui.tone)} data-tone={row.failed > 0 ? "failed" : "idle"}>
        <StateGlyph tone="failed" /> {t.failed(row.failed)}
      </span>
      <span className={cx(s.count, ui.tone)} data-tone={paused > 0 ? "paused" : "idle"}>
        <StateGlyph tone="paused" /> {t.paused(paused)}
      </span>
      <button
        type="button"
        className={cx(ui.control, ui.square)}
        disabled={nothing}
        aria-label={t.previousBad}
        title={t.previousBad}
        onClick={() => void go(-1)}
      >
        <span className={s.up}>
          <Icon name="chevron" size={14} />
        </span>
      </button>
      <button
        type="button"
        className={cx(ui.control, ui.square)}
        disabled={nothing}
        aria-label={t.nextBad}
        title={t.nextBad}
        onClick={() => void go(1)}
      >
        <Icon name="chevron" size={14} />
      </button>
      <span role="status" className={s.said}>
        {said}
      </span>
    </span>
  );
}

/** What colours and shapes mean; of the phases only those that the job has. */
function Legend() {
  const words = useWords();
  const t = words.timelinePanel;
  return (
    <details className={s.legend}>
      <summary className={ui.control}>{t.legend}</summary>
      <div className={s.legendBox}>
        <h3>{t.phases}</h3>
        <ul>
          {PHASES.map((phase) => (
            <li key={phase}>
              <i style={{ background: `var(${phaseToken(phase)})` }} aria-hidden="true" />
              {t.phase[phase]}
            </li>
          ))}
        </ul>
        <h3>{t.statesTitle}</h3>
        <ul>
          {STATES.map((state) => (
            <li key={state}>
              <i className={s.sample} data-state={state} aria-hidden="true" />
              {words.timeline.states[state]}: {t.looks[state]}
            </li>
          ))}
        </ul>
      </div>
    </details>
  );
}

/** How the tasks come, how old they are, what is missing. */
function Source({ row }: { row: TimelineJob }) {
  const t = useWords().timelinePanel;
  const now = useClock((clock) => clock.now);
  const age = row.fresh_ns === null ? null : Math.max(0, now * 1e6 - row.fresh_ns);
  const old =
    row.source === "push" || age === null ? null : age < 1e9 ? "< 1 s" : duration(Math.round(age / 1e9) * 1e9);
  // The hub tells it every 2 s only: not older than that is as fresh as it says.
  const late = age !== null && age > 6e9 + 2 * (row.period_ns ?? 0);
  const { ray, agent, hub } = row.dropped;
  const lost = (ray ?? 0) + (agent ?? 0) + (hub ?? 0);
  return (
    <>
      {lost > 0 || row.truncated > 0 || row.clipped_lanes > 0 ? (
        <span className={cx(s.lost, ui.tone)} data-tone="slow" title={t.lostTitle(row)}>
          <StateGlyph tone="slow" /> {t.lost(lost, row.truncated)}
        </span>
      ) : null}
      <span
        className={cx(s.source, late && s.late)}
        title={[t.sourceTitle(row.source), row.note].filter(Boolean).join("\n")}
        data-testid="task-source"
      >
        {t.held(row.total)} · {row.fresh_ns === null ? t.never : t.source(row.source, old, row.period_ns)}
      </span>
    </>
  );
}
