import { memo, useState } from "react";
import { useTable } from "../../api/hooks";
import type { Actor } from "../../api/types.gen";
import { useWords } from "../../i18n";
import { shortClass } from "../../ui/format";
import { Swatch } from "../../ui/Glyph";
import ui from "../../ui/ui.module.css";
import { Button, Cut, cx, Since } from "../../ui/widgets";
import { doingOf, stateOf } from "./doing";
import type { Mark, Marks } from "./marks";
import s from "./overview.module.css";
import { nodeLabel } from "./tree";

interface Props {
  actors: readonly Actor[];
  marks: Marks;
  onOpen: (actorId: string) => void;
}

const FIRST = 120;

/** Of many, those that need somebody come first. */
const urgency = (actor: Actor): number => ["paused", "failed", "pending"].indexOf(stateOf(actor)) + 1 || 4;

/** Actors in no WorkerGroup: one line each. */
export function PlainActors({ actors, marks, onOpen }: Props) {
  const { tree: t } = useWords();
  const nodes = useTable("nodes");
  const [all, setAll] = useState(false);
  const wanted = marks.states.size > 0 ? actors.filter((a) => marks.states.has(stateOf(a))) : actors;
  const ordered = wanted.length > FIRST ? [...wanted].sort((a, b) => urgency(a) - urgency(b)) : wanted;
  const shown = all ? ordered : ordered.slice(0, FIRST);
  return (
    <section className={cx(ui.panel, s.plain)} aria-label={t.otherActors}>
      <header className={s.groupHead}>
        <h3>{t.otherActors}</h3>
        <span className={cx(ui.dim, s.facts)}>{actors.length}</span>
      </header>
      {wanted.length === 0 ? <p className={s.none}>{t.noneMatch}</p> : null}
      <ul className={s.actors}>
        {shown.map((actor) => (
          <Line
            key={actor.actor_id}
            actor={actor}
            node={actor.node_id ? nodeLabel(actor.node_id, nodes) : t.notPlaced}
            mark={marks.of(actor)}
            onOpen={onOpen}
          />
        ))}
      </ul>
      {shown.length < wanted.length ? (
        <Button kind="bare" onClick={() => setAll(true)}>
          {t.moreActors(wanted.length - shown.length)}
        </Button>
      ) : null}
    </section>
  );
}

interface LineProps {
  actor: Actor;
  node: string;
  mark: Mark;
  onOpen: (actorId: string) => void;
}

const Line = memo(function Line({ actor, node, mark, onOpen }: LineProps) {
  const words = useWords();
  const state = stateOf(actor);
  const doing = doingOf(actor, words);
  const name = actor.name && actor.name !== actor.class_name ? actor.name : null;
  return (
    <li className={s.actor}>
      <button
        type="button"
        data-testid="actor"
        data-actor-id={actor.actor_id}
        data-state={state}
        data-mark={mark}
        onClick={() => onOpen(actor.actor_id)}
      >
        <span title={words.state[state]}>
          <Swatch tone={state} size={16} />
        </span>
        <span className={s.actorName} title={name ? `${actor.class_name} ${name}` : actor.class_name}>
          <b>{shortClass(actor.class_name)}</b> {name ? <span className={cx(ui.dim, ui.mono)}>{name}</span> : null}
        </span>
        <Cut mono={actor.task_name === doing} className={ui.sec} text={doing} />
        <span className={s.actorSince}>
          <Since ns={actor.since_ns} className={ui.dim} />
        </span>
        <Cut mono className={ui.dim} text={node} />
      </button>
    </li>
  );
});
