import type { ReactNode } from "react";
import { useTable } from "../../api/hooks";
import type { Actor } from "../../api/types.gen";
import { useWords } from "../../i18n";
import { shortId } from "../../ui/format";
import { Icon, Swatch } from "../../ui/Glyph";
import ui from "../../ui/ui.module.css";
import { Chip, CopyButton, Cut, cx, Since } from "../../ui/widgets";
import s from "./details.module.css";
import { nodeLabel } from "./tree";

/** All that is known of one actor, in a strip at the foot of the view. */
export function Details({
  actorId,
  onClose,
  onOpen,
}: {
  actorId: string;
  onClose: () => void;
  onOpen: (id: string) => void;
}) {
  const words = useWords();
  const actors = useTable("actors");
  const groups = useTable("groups");
  const nodes = useTable("nodes");
  const actor = actors.get(actorId);
  const t = words.actor;
  const close = (
    <button
      type="button"
      className={cx(ui.control, ui.square)}
      aria-label={words.app.close}
      title={words.app.close}
      onClick={onClose}
    >
      <Icon name="close" />
    </button>
  );
  if (!actor) {
    return (
      <section className={cx(ui.panel, s.strip)} aria-label={t.details} data-testid="actor-details">
        <header className={s.head}>
          <span className={ui.dim}>{t.gone}</span>
          <span className={cx(ui.mono, ui.dim)}>{shortId(actorId)}</span>
          <span className={ui.grow} />
          {close}
        </header>
      </section>
    );
  }
  const group = actor.group_id ? groups.get(actor.group_id) : undefined;
  const parent = actor.parent_actor_id ? actors.get(actor.parent_actor_id) : undefined;
  const rank = actor.rank === null ? words.cell.unknownRank : String(actor.rank);
  return (
    <section
      className={cx(ui.panel, s.strip)}
      aria-label={t.details}
      data-testid="actor-details"
      data-tone={actor.state}
    >
      <header className={s.head}>
        <Swatch tone={actor.state} />
        <b className={ui.cut}>{group ? t.title(group.name, rank) : (actor.name ?? actor.class_name)}</b>
        <span className={cx(ui.tone, s.state)}>{words.state[actor.state]}</span>
        <Since ns={actor.since_ns} className={ui.dim} />
        {actor.detached ? <Chip>{words.tree.detached}</Chip> : null}
        <span className={ui.grow} />
        {close}
      </header>
      <dl className={s.facts}>
        <Fact name={t.method}>
          <Cut mono text={methodOf(actor, words)} />
        </Fact>
        {actor.role ? <Fact name={t.role}>{actor.role}</Fact> : null}
        <Fact name={t.class} copy={actor.class_name}>
          <Cut mono text={actor.class_name} />
        </Fact>
        {actor.name ? (
          <Fact name={t.name} copy={actor.name}>
            <Cut mono text={actor.name} />
          </Fact>
        ) : null}
        <Fact name={t.node} copy={actor.node_id}>
          <Cut
            mono
            text={
              actor.node_id ? `${nodeLabel(actor.node_id, nodes)} · ${shortId(actor.node_id)}` : words.tree.notPlaced
            }
          />
        </Fact>
        <Fact name={t.pid} copy={actor.pid === null ? null : String(actor.pid)}>
          <span className={ui.mono}>{actor.pid ?? words.app.unknown}</span>
        </Fact>
        <Fact name={t.actorId} copy={actor.actor_id}>
          <Cut mono text={actor.actor_id} />
        </Fact>
        <Fact name={t.workerId} copy={actor.worker_id}>
          <Cut mono text={actor.worker_id ?? words.app.unknown} />
        </Fact>
        <Fact name={t.parent}>
          {parent ? (
            <button type="button" className={s.link} onClick={() => onOpen(parent.actor_id)}>
              <Cut mono text={parent.rank === null ? parent.class_name : `${parent.class_name} ${parent.rank}`} />
            </button>
          ) : (
            <span>{actor.parent_task ? words.tree.madeByTask : words.tree.driver}</span>
          )}
        </Fact>
        <Fact name={t.restarts}>
          <span className={ui.num}>{actor.restarts}</span>
        </Fact>
        {actor.death_cause ? (
          <div className={s.cause}>
            <dt>{t.deathCause}</dt>
            <dd>
              <pre>{actor.death_cause}</pre>
              <CopyButton text={actor.death_cause} what={t.deathCause} />
            </dd>
          </div>
        ) : null}
      </dl>
    </section>
  );
}

function methodOf(actor: Actor, words: ReturnType<typeof useWords>): string {
  if (actor.task_name) return actor.task_name;
  if (actor.methods_running !== null && actor.methods_running > 0) return words.actor.inMethods(actor.methods_running);
  return actor.state === "running" || actor.state === "waiting" ? words.app.unknown : words.tree.noMethod;
}

function Fact({ name, copy, children }: { name: string; copy?: string | null; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {children}
        {copy ? <CopyButton text={copy} what={name} /> : null}
      </dd>
    </div>
  );
}
