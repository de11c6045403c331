// The left column: a row a lane, only those that are seen.
import { memo } from "react";
import { useTable } from "../../api/hooks";
import type { Actor, Lane } from "../../api/types.gen";
import { useWords } from "../../i18n";
import { scriptOf, shortClass } from "../../ui/format";
import { Icon, StateGlyph } from "../../ui/Glyph";
import type { Tone } from "../../ui/glyphs";
import ui from "../../ui/ui.module.css";
import { cx } from "../../ui/widgets";
import type { Placed } from "./layout";
import { setFold, useTimeline } from "./state";
import s from "./timeline.module.css";

interface Props {
  rows: readonly Placed[];
  first: number;
  last: number;
  /** Lanes on which something is paused now. */
  paused: ReadonlySet<string>;
}

export function Labels({ rows, first, last, paused }: Props) {
  const words = useWords();
  const current = useTimeline((state) => state.lane);
  const seen = rows.slice(first, last);
  const stop = seen.some(({ row }) => row.key === current) ? current : (seen[0]?.row.key ?? null);
  return (
    <div className={s.labels} role="tree" aria-label={words.timeline.lanes} data-testid="lanes">
      {seen.map((placed) => (
        <Label
          key={placed.row.key}
          placed={placed}
          current={placed.row.key === current}
          stop={placed.row.key === stop}
          paused={paused.has(placed.row.key)}
        />
      ))}
    </div>
  );
}

interface LabelProps {
  placed: Placed;
  current: boolean;
  /** The one that the tab key comes to. */
  stop: boolean;
  paused: boolean;
}

const Label = memo(function Label({ placed, current, stop, paused }: LabelProps) {
  const { timeline: t } = useWords();
  const { row, y, height } = placed;
  const style = { top: y, height, paddingLeft: 10 + row.level * 14 };
  if (row.kind === "rest")
    return (
      <button type="button" className={cx(s.label, s.rest)} style={style} onClick={() => setFold(row.of, true)}>
        <Icon name="chevron" size={12} />
        {t.otherLanes(row.count)}
      </button>
    );
  const { lane, fold } = row;
  const toggle = () => fold !== null && setFold(row.key, fold !== "open");
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are heard by the whole view (keys.ts)
    <div
      className={cx(s.label, row.level === 0 && s.top, fold !== null && fold !== "closed" && s.sum)}
      style={style}
      role="treeitem"
      aria-level={row.level + 1}
      aria-expanded={fold === null ? undefined : fold === "open"}
      aria-selected={current}
      data-current={current || undefined}
      data-testid="lane"
      data-lane={row.key}
      tabIndex={stop ? 0 : -1}
      ref={(element) => {
        if (current && element && document.activeElement?.getAttribute("role") === "treeitem")
          element.focus({ preventScroll: true });
      }}
      onClick={() => {
        useTimeline.setState({ lane: row.key });
        toggle();
      }}
    >
      <span className={s.chevron} data-fold={fold ?? undefined}>
        {fold === null ? null : <Icon name="chevron" size={12} />}
      </span>
      <LaneName lane={lane} sum={fold !== null} paused={paused} leaves={row.leaves} />
    </div>
  );
});

function LaneName({ lane, sum, paused, leaves }: { lane: Lane; sum: boolean; paused: boolean; leaves: number }) {
  const { timeline: t, state: states } = useWords();
  const actor = useTable("actors").get(lane.actor_id ?? "");
  const label = useLaneLabel(lane);
  // Where an actor has a lane in each of its roles, only that of the call which is paused says so.
  const sign = sum ? null : signOf(actor, paused || (actor?.state === "paused" && lane.role === null), lane.failed > 0);
  return (
    <>
      <span className={ui.cut} title={label}>
        {label}
      </span>
      {sign ? (
        <span
          className={s.sign}
          data-tone={sign}
          title={sign === "failed" ? t.failedTasks(lane.failed) : states[sign as "paused"]}
        >
          <StateGlyph tone={sign} size={9} />
        </span>
      ) : null}
      <span className={ui.grow} />
      <Meta lane={lane} leaves={leaves} />
    </>
  );
}

/** Only what needs a person has a sign: the rest is pale. */
function signOf(actor: Actor | undefined, paused: boolean, failed: boolean): Tone | null {
  if (paused) return "paused";
  if (actor?.state === "failed" || actor?.state === "dead" || actor?.state === "pending") return actor.state;
  return failed ? "failed" : null;
}

function Meta({ lane, leaves }: { lane: Lane; leaves: number }) {
  const { timeline: t } = useWords();
  const nodes = useTable("nodes");
  const jobs = useTable("jobs");
  let text = "";
  if (lane.kind === "driver") text = scriptOf(jobs.get(lane.job_id)?.entrypoint ?? "");
  else if (lane.kind === "group" || lane.kind === "role") text = t.ranks(leaves);
  else if (lane.kind === "node") text = t.workers(leaves);
  else if (lane.kind === "actor") text = nodes.get(lane.node_id ?? "")?.ip ?? "";
  return text === "" ? null : (
    <span className={cx(s.meta, ui.cut)} title={text}>
      {text}
    </span>
  );
}

/** A lane's name, as long as the column. */
export function useLaneLabel(lane: Lane): string {
  const { timeline: t } = useWords();
  const nodes = useTable("nodes");
  if (lane.kind === "driver") return t.driver;
  if (lane.kind === "pending") return t.pendingLane;
  if (lane.kind === "node") return t.node(nodes.get(lane.node_id ?? "")?.ip ?? lane.label);
  if (lane.kind === "actor") return shortClass(lane.label) || t.unnamed;
  return lane.label || t.unnamed;
}
