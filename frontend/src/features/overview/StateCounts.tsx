import type { ReactNode } from "react";
import type { Actor } from "../../api/types.gen";
import { useWords } from "../../i18n";
import { Swatch } from "../../ui/Glyph";
import { useChangeSearch } from "../../ui/search";
import { Button } from "../../ui/widgets";
import type { ShownState } from "./doing";
import s from "./overview.module.css";
import { countStates } from "./tree";

const ORDER: ShownState[] = ["paused", "failed", "dead", "pending", "unknown", "waiting", "running", "idle"];
const ALWAYS = new Set<ShownState>(["waiting", "running", "idle"]);
const LOUD = new Set<ShownState>(["paused", "failed", "dead"]);

/** The counts by state are the filters. */
export function StateCounts({
  actors,
  states,
  children,
}: {
  actors: readonly Actor[];
  states: ReadonlySet<string>;
  children?: ReactNode;
}) {
  const words = useWords();
  const change = useChangeSearch();
  const counts = countStates(actors);
  const ranks = actors.filter((a) => a.group_id !== null).length;
  const others = actors.length - ranks;
  const t = words.counts;
  const toggle = (state: ShownState) => {
    const next = new Set(states);
    if (!next.delete(state)) next.add(state);
    change({ state: [...next].join(",") || undefined, site: undefined });
  };
  return (
    <fieldset className={s.counts} aria-label={t.label}>
      <span className={s.total}>
        {ranks > 0 ? t.ranks(ranks) : t.onlyActors(others)}
        {ranks > 0 && others > 0 ? <small> + {t.actors(others)}</small> : null}
      </span>
      {ORDER.map((state) => {
        const count = counts.get(state) ?? 0;
        if (count === 0 && !ALWAYS.has(state) && !states.has(state)) return null;
        return (
          <button
            key={state}
            type="button"
            className={s.count}
            data-hot={(LOUD.has(state) && count > 0) || undefined}
            data-testid="state-filter"
            data-state-name={state}
            aria-pressed={states.has(state)}
            title={t.filter(words.state[state], count)}
            onClick={() => toggle(state)}
          >
            <Swatch tone={state} />
            {words.state[state]} <b>{count}</b>
          </button>
        );
      })}
      {states.size > 0 ? (
        <Button kind="bare" small onClick={() => change({ state: undefined })}>
          {t.clear}
        </Button>
      ) : null}
      {children}
    </fieldset>
  );
}
