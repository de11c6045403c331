import { useLayoutEffect, useRef, useState } from "react";
import { useTable } from "../../api/hooks";
import { useWords } from "../../i18n";
import { StateGlyph } from "../../ui/Glyph";
import ui from "../../ui/ui.module.css";
import type { Hit } from "./hit";
import { MARK_STATES, names } from "./marks";
import { phaseOf, phaseToken } from "./phases";
import { useHover } from "./pointer";
import { nowNs } from "./state";
import s from "./timeline.module.css";
import { clockTime, duration } from "./times";

/** Beside the pointer: name, state, times and rank of what lies under it. */
export function Tooltip() {
  const { hit, x, y } = useHover();
  const box = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState({ left: 0, top: 0 });
  useLayoutEffect(() => {
    if (!hit || !box.current) return;
    const { width, height } = box.current.getBoundingClientRect();
    setAt({
      left: x + 14 + width > window.innerWidth - 8 ? x - width - 10 : x + 14,
      top: Math.min(y + 16, window.innerHeight - height - 8),
    });
  }, [hit, x, y]);
  return hit ? (
    <div ref={box} className={s.tooltip} style={at} data-testid="timeline-tooltip">
      <Inside hit={hit} />
    </div>
  ) : null;
}

function Inside({ hit }: { hit: Hit }) {
  const words = useWords();
  const t = words.timeline;
  const lane = useTable("lanes").get(hit.lane_id);
  const group = useTable("groups").get(lane?.group_id ?? "");
  const name = names.list[hit.name] ?? "";
  const where = [group?.name, lane?.role, lane?.label]
    .filter((part, i, all) => part && all.indexOf(part) === i)
    .join(" ");
  const states = hit.kind === "slice" ? [hit.state] : [3, 4, 1, 0, 2].filter((state) => hit.states & (1 << state));
  return (
    <>
      <div className={s.tipName}>
        <i style={{ background: `var(${phaseToken(phaseOf(name))})` }} />
        <b className={ui.mono}>{name || t.unnamed}</b>
      </div>
      <div className={ui.dim}>{where}</div>
      <div className={s.tipStates}>
        {states.map((state) => {
          const word = MARK_STATES[state] ?? "pending";
          const tone = word === "finished" ? "idle" : word;
          return (
            <span key={word} data-tone={tone} className={ui.tone}>
              {word === "finished" ? null : <StateGlyph tone={tone} size={9} />} {t.states[word]}
            </span>
          );
        })}
        {hit.kind === "bin" ? <span className={ui.dim}>{t.tasks(hit.count)}</span> : null}
      </div>
      <Times hit={hit} />
    </>
  );
}

function Times({ hit }: { hit: Hit }) {
  const { timeline: t } = useWords();
  if (hit.kind === "bin")
    return (
      <div className={ui.num}>
        {t.within(clockTime(hit.from_ns, hit.to_ns - hit.from_ns), duration(hit.to_ns - hit.from_ns))}
      </div>
    );
  const { submit_ns, start_ns, end_ns } = hit;
  const until = end_ns ?? (hit.state === 3 || hit.state === 2 ? null : nowNs());
  const long = start_ns === null || until === null ? null : until - start_ns;
  return (
    <div className={ui.num}>
      {start_ns === null ? null : (
        <div>
          {long === null ? t.lengthUnknown : <b>{duration(long)}</b>} · {clockTime(start_ns, long ?? 0)}
          {end_ns === null ? "" : ` → ${clockTime(end_ns, long ?? 0)}`}
        </div>
      )}
      {submit_ns === null ? null : (
        <div className={ui.dim}>
          {start_ns === null
            ? t.waits(duration(nowNs() - submit_ns))
            : t.waited(duration(Math.max(0, start_ns - submit_ns)))}
        </div>
      )}
      {hit.task.attempt > 0 ? <div className={ui.dim}>{t.attempt(hit.task.attempt)}</div> : null}
    </div>
  );
}
