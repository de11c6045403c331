import { useState } from "react";
import { useSince } from "../../api/clock";
import { useTable } from "../../api/hooks";
import type { Node, SourceState } from "../../api/types.gen";
import { useWords } from "../../i18n";
import { formatDuration } from "../../ui/format";
import { StateGlyph, Swatch } from "../../ui/Glyph";
import type { Tone } from "../../ui/glyphs";
import ui from "../../ui/ui.module.css";
import { Button, Cut, cx, Since } from "../../ui/widgets";
import s from "./nodes.module.css";
import { nodeLabel } from "./tree";

const toneOf = (node: Node): Tone => (!node.alive ? "dead" : node.helper === "up" ? "running" : "slow");

/** The nodes: all while they are few, else those with something wrong. */
export function Nodes() {
  const { nodes: t } = useWords();
  const nodes = useTable("nodes");
  const [all, setAll] = useState(false);
  const list = [...nodes.values()].sort(
    (a, b) =>
      Number(b.is_head) - Number(a.is_head) ||
      Number(a.alive) - Number(b.alive) ||
      a.ip.localeCompare(b.ip, "en", { numeric: true }),
  );
  if (list.length === 0) return null;
  const alive = list.filter((n) => n.alive);
  const lost = list.length - alive.length;
  const off = alive.filter((n) => n.helper !== "up").length;
  const trouble = list.filter((n) => toneOf(n) !== "running");
  const few = list.length <= 12;
  const shown = few || all ? list : trouble;
  return (
    <section className={cx(ui.panel, s.nodes)} aria-label={t.title} data-testid="nodes">
      <header className={s.head}>
        <h3>{t.title}</h3>
        <span className={ui.dim}>{t.alive(alive.length)}</span>
        {lost > 0 ? (
          <b className={ui.tone} data-tone="dead">
            {t.lost(lost)}
          </b>
        ) : null}
        {off > 0 ? (
          <b className={ui.tone} data-tone="slow">
            {t.helperOff(off)}
          </b>
        ) : alive.length > 0 ? (
          <span className={ui.dim}>{t.allHelpers}</span>
        ) : null}
        <span className={ui.grow} />
        {few ? null : (
          <Button kind="bare" small onClick={() => setAll(!all)}>
            {all ? t.showTrouble : t.showAll(list.length)}
          </Button>
        )}
      </header>
      {shown.length > 0 ? (
        <ul className={s.list}>
          {shown.map((node) => (
            <NodeChip key={node.node_id} node={node} nodes={nodes} />
          ))}
        </ul>
      ) : null}
    </section>
  );
}

function NodeChip({ node, nodes }: { node: Node; nodes: ReadonlyMap<string, Node> }) {
  const { nodes: t } = useWords();
  const tone = toneOf(node);
  const note = node.alive ? (node.helper === "up" ? "" : (node.helper_note ?? "")) : (node.death_cause ?? "");
  const size = [node.gpus ? t.gpus(node.gpus) : null, node.cpus ? t.cpus(node.cpus) : null].filter(Boolean).join(", ");
  const state = node.alive ? t.helper[node.helper] : t.lostOne;
  return (
    <li
      className={s.node}
      data-testid="node"
      data-node-id={node.node_id}
      data-alive={node.alive}
      data-helper={node.helper}
      data-noted={note !== "" || undefined}
    >
      <Swatch tone={tone} size={16} />
      <span className={cx(ui.mono, ui.nowrap)} title={node.hostname}>
        {nodeLabel(node.node_id, nodes)}
      </span>
      <span className={ui.dim}>{[node.is_head ? t.head : null, size].filter(Boolean).join(" · ")}</span>
      {tone === "running" ? null : (
        <span className={cx(ui.tone, ui.nowrap)} data-tone={tone}>
          {state} {node.alive ? null : <Since ns={node.end_ns} />}
        </span>
      )}
      {note ? <Cut className={ui.sec} text={note} /> : null}
    </li>
  );
}

/** Sources of facts that aren't fresh: what is missing, why, and what mends it. */
export function Sources() {
  const words = useWords();
  const sources = useTable("sources");
  const bad = [...sources.values()].filter((source) => !source.ok);
  if (bad.length === 0) return null;
  return (
    <section className={s.sources} data-tone="slow" aria-label={words.sources.label} data-testid="sources">
      {bad.map((source) => (
        <Source key={source.name} source={source} />
      ))}
    </section>
  );
}

function Source({ source }: { source: SourceState }) {
  const words = useWords();
  const t = words.sources;
  const ms = useSince(source.fresh_ns);
  const age = ms === null ? t.never : t.age(formatDuration(ms, words.units));
  return (
    <p data-source={source.name}>
      <StateGlyph tone="slow" size={12} />
      <b>{t.names[source.name] ?? source.name}</b>
      <span className={s.note}>{source.note ? `${source.note} (${age})` : `${t.notOk}, ${age}`}</span>
    </p>
  );
}
