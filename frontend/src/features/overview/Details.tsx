import type { ReactNode } from "react";
import { useTable } from "../../api/hooks";
import { useLink } from "../../api/stores";
import type { Actor } from "../../api/types.gen";
import { type Catalog, useWords } from "../../i18n";
import { shortClass, shortId } from "../../ui/format";
import { Icon, Swatch } from "../../ui/Glyph";
import ui from "../../ui/ui.module.css";
import { Chip, CopyButton, Cut, cx, Since } from "../../ui/widgets";
import s from "./details.module.css";
import { methodOf, stateOf } from "./doing";
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
  const state = stateOf(actor);
  return (
    <section className={cx(ui.panel, s.strip)} aria-label={t.details} data-testid="actor-details" data-tone={state}>
      <header className={s.head}>
        <Swatch tone={state} />
        <b className={ui.cut}>
          {group && actor.rank !== null
            ? t.title(group.name, String(actor.rank))
            : (actor.name ?? shortClass(actor.class_name))}
        </b>
        <span className={cx(ui.tone, s.state)}>{words.state[state]}</span>
        <Since ns={actor.since_ns} className={ui.dim} />
        {actor.detached ? <Chip>{words.tree.detached}</Chip> : null}
        <span className={ui.grow} />
        {close}
      </header>
      <dl className={s.facts}>
        <Fact name={t.method}>
          <Cut mono text={methodText(actor, words)} />
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
              <Cut
                mono
                text={
                  parent.rank === null
                    ? shortClass(parent.class_name)
                    : `${shortClass(parent.class_name)} ${parent.rank}`
                }
              />
            </button>
          ) : (
            <span>{actor.parent_task ? words.tree.madeByTask : words.tree.driver}</span>
          )}
        </Fact>
        <Fact name={t.restarts}>
          <span className={ui.num}>{actor.restarts}</span>
        </Fact>
        {actor.death_kind ? (
          <Fact name={t.deathKind} copy={actor.death_kind}>
            <Cut mono text={actor.death_kind} />
          </Fact>
        ) : null}
        <Cause actor={actor} />
      </dl>
    </section>
  );
}

/** Why it ended. Messages of user code may hold secrets: the hub leaves them out for who isn't signed in. */
function Cause({ actor }: { actor: Actor }) {
  const { actor: t } = useWords();
  const anonymous = useLink((link) => link.welcome?.role === "anonymous");
  if (!actor.death_cause && !(actor.death_kind && anonymous)) return null;
  return (
    <div className={s.cause}>
      <dt>{t.deathCause}</dt>
      <dd>
        {actor.death_cause ? (
          <>
            <pre>{actor.death_cause}</pre>
            <CopyButton text={actor.death_cause} what={t.deathCause} />
          </>
        ) : (
          <span className={ui.dim}>{t.causeHidden}</span>
        )}
      </dd>
    </div>
  );
}

function methodText(actor: Actor, words: Catalog): string {
  const known = methodOf(actor, words);
  if (known !== null) return known;
  return ["running", "waiting", "unknown"].includes(stateOf(actor)) ? words.app.unknown : words.tree.noMethod;
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
