import { memo } from "react";
import type { Actor, Node } from "../../api/types.gen";
import { useWords } from "../../i18n";
import ui from "../../ui/ui.module.css";
import { Chip, Cut, cx, Since } from "../../ui/widgets";
import type { Marks } from "./marks";
import s from "./overview.module.css";
import { RankGrid } from "./RankGrid";
import { countStates, type GroupNode, type RoleLine, roleLines } from "./tree";

interface Props {
  node: GroupNode;
  nodes: ReadonlyMap<string, Node>;
  compact: boolean;
  marks: Marks;
  /** Who made it, where the nesting doesn't say. */
  maker: string | null;
  onOpen: (actorId: string) => void;
}

const LOUD = ["paused", "failed", "dead", "pending"] as const;

export const GroupPanel = memo(
  function GroupPanel({ node: { group, members }, nodes, compact, marks, maker, onOpen }: Props) {
    const words = useWords();
    const t = words.tree;
    const roles = roleLines(group, members);
    const counts = countStates(members);
    const size = group.world_size;
    const ranked = members.some((m) => m.rank !== null);
    const all = ranked ? t.ranks(members.length) : t.members(members.length);
    const ranks = size !== null && size !== members.length ? t.ranksOf(members.length, size) : all;
    const hosts = new Set(members.map((m) => m.node_id).filter((id) => id !== null)).size;
    const kind = group.kind === "actors" ? null : t.kind[group.kind];
    const facts = [ranks, hosts > 0 ? t.nodes(hosts) : null, kind, maker ? t.madeBy(maker) : null].filter(Boolean);
    const only = roles.length === 1 ? roles[0] : undefined;
    // "2 dead" stands beside it: a role that does nothing has no more to say.
    const said = only !== undefined && only.method === null && LOUD.some((state) => state === only.tone);
    return (
      <section
        className={cx(ui.panel, s.group)}
        data-testid="group"
        data-group-id={group.group_id}
        aria-label={group.name}
      >
        <header className={s.groupHead}>
          <h3 className={ui.cut} title={group.name}>
            {group.name}
          </h3>
          <Cut className={cx(ui.dim, s.facts)} text={facts.join(" · ")} />
          <span className={ui.grow} />
          {LOUD.map((state) => {
            const count = counts.get(state);
            if (!count) return null;
            return (
              <Chip key={state} tone={state}>
                <b className={s.chipCount}>{t.stateCount(count, words.state[state])}</b>
              </Chip>
            );
          })}
          {only && !said ? <Role line={only} alone={group.name} /> : null}
        </header>
        {only ? null : (
          <div className={s.roles}>
            {roles.map((line) => (
              <Role key={line.role} line={line} />
            ))}
          </div>
        )}
        <RankGrid
          name={group.name}
          members={members}
          worldSize={size}
          nodes={nodes}
          compact={compact}
          marks={marks}
          onOpen={onOpen}
        />
        <Foot members={members} clipped={group.clipped} />
      </section>
    );
  },
  (a, b) =>
    a.nodes === b.nodes &&
    a.compact === b.compact &&
    a.marks === b.marks &&
    a.maker === b.maker &&
    a.onOpen === b.onOpen &&
    a.node.group === b.node.group &&
    a.node.members.length === b.node.members.length &&
    a.node.members.every((member, i) => member === b.node.members[i]),
);

/** `alone`: the name of the group, which says already what its only role is. */
function Role({ line: { role, method, tone, since }, alone }: { line: RoleLine; alone?: string }) {
  const words = useWords();
  const busy = method !== null;
  return (
    <span className={s.role} data-tone={tone}>
      {role && role !== alone ? <i>{role}</i> : null}
      <Cut mono className={busy ? undefined : ui.dim} text={method ?? words.state[tone].toLowerCase()} />
      {since === null ? null : busy ? (
        <b className={ui.tone}>
          <Since ns={since} />
        </b>
      ) : (
        <Since ns={since} className={ui.dim} />
      )}
    </span>
  );
}

function Foot({ members, clipped }: { members: readonly Actor[]; clipped: number }) {
  const { tree: t } = useWords();
  const gone = members.filter((m) => m.state === "dead" || m.state === "failed").length;
  const restarts = members.reduce((sum, m) => sum + m.restarts, 0);
  if (gone === 0 && restarts === 0 && clipped === 0) return null;
  return (
    <footer className={s.groupFoot}>
      {gone > 0 && gone < members.length ? <span>{t.alive(members.length - gone, members.length)}</span> : null}
      {restarts > 0 ? <span>{t.restarts(restarts)}</span> : null}
      {clipped > 0 ? <span>{t.clippedMembers(clipped)}</span> : null}
    </footer>
  );
}
