import { useMemo } from "react";
import { useTable } from "../../api/hooks";
import type { Actor, Job } from "../../api/types.gen";
import { useWords } from "../../i18n";
import { shortClass, shortCommand } from "../../ui/format";
import { Icon, Swatch } from "../../ui/Glyph";
import ui from "../../ui/ui.module.css";
import { Cut, cx, EmptyState, Since } from "../../ui/widgets";
import { methodOf, stateOf } from "./doing";
import { GroupPanel } from "./GroupPanel";
import type { Marks } from "./marks";
import s from "./overview.module.css";
import { PlainActors } from "./PlainActors";
import { type Branch, buildTree, chainOf, columnsOf, type GroupNode, gridRows, nodeLabel } from "./tree";
import { useColumns } from "./useColumns";

interface Props {
  job: Job;
  actors: readonly Actor[];
  marks: Marks;
  onOpen: (actorId: string) => void;
}

/** Above this many ranks cells shrink and lose their numbers. */
const COMPACT_ABOVE = 256;

export function Tree({ job, actors, marks, onOpen }: Props) {
  const words = useWords();
  const groups = useTable("groups");
  const root = useMemo(() => buildTree(job.job_id, groups.values(), actors), [job.job_id, groups, actors]);
  const { chain, plain, rest } = chainOf(root);
  const compact = actors.filter((a) => a.group_id !== null).length > COMPACT_ABOVE;
  const shared = { marks, onOpen, compact };
  const nothing = actors.length === 0 && rest.groups.length === 0;
  return (
    <>
      <div className={s.chain}>
        <DriverCard job={job} marks={marks} />
        {chain.map((actor) => (
          <Maker key={actor.actor_id} actor={actor} marks={marks} onOpen={onOpen} arrow />
        ))}
      </div>
      {nothing ? (
        <div className={ui.panel}>
          {job.state === "finished" ? (
            <EmptyState title={words.tree.noActorsEver} />
          ) : (
            <EmptyState title={words.tree.noActors} body={words.tree.noActorsBody} />
          )}
        </div>
      ) : (
        <Made branch={{ ...rest, plain: [...plain, ...rest.plain] }} makers={chain.length + 1} {...shared} />
      )}
      {job.clipped_actors > 0 ? <p className={s.clipped}>{words.tree.clippedActors(job.clipped_actors)}</p> : null}
    </>
  );
}

interface MadeProps {
  branch: Branch;
  /** How many cards stand side by side above; the last one is the maker. None: no lines are drawn. */
  makers?: number;
  marks: Marks;
  compact: boolean;
  onOpen: (actorId: string) => void;
}

/** All that one maker made: groups in columns, then other makers with what is theirs, then single actors. */
function Made({ branch, makers, ...shared }: MadeProps) {
  return (
    <>
      {branch.groups.length > 0 ? <Groups list={branch.groups} makers={makers} {...shared} /> : null}
      {branch.creators.map((creator) =>
        creator.actor ? (
          <div key={creator.actor.actor_id} className={s.nested}>
            <Maker actor={creator.actor} marks={shared.marks} onOpen={shared.onOpen} />
            <Made branch={creator} {...shared} />
          </div>
        ) : null,
      )}
      {branch.plain.length > 0 ? (
        <PlainActors actors={branch.plain} marks={shared.marks} onOpen={shared.onOpen} />
      ) : null}
    </>
  );
}

/** Lines from the maker above (the last of a chain) to the columns of its groups. */
function Connector({ makers, columns }: { makers: number; columns: number }) {
  const from = ((makers - 0.5) / makers) * 100;
  const to = columns === 1 ? [from] : Array.from({ length: columns }, (_, i) => ((i + 0.5) / columns) * 100);
  const left = Math.min(from, to[0] ?? from);
  const right = Math.max(from, to.at(-1) ?? from);
  const path = `M${from} 0V7M${left} 7H${right}${to.map((x) => `M${x} 7V14`).join("")}`;
  return (
    <svg className={s.connector} viewBox="0 0 100 14" preserveAspectRatio="none" aria-hidden="true">
      <path d={path} vectorEffect="non-scaling-stroke" />
    </svg>
  );
}

function Groups({ list, makers, marks, compact, onOpen }: { list: GroupNode[] } & Omit<MadeProps, "branch">) {
  const nodes = useTable("nodes");
  const actors = useTable("actors");
  const count = useColumns();
  const heights = list.map(({ group, members }) => {
    const rows = gridRows(members, group.world_size, nodes);
    const lines = rows.reduce((sum, row) => sum + Math.ceil(row.cells.length / (row.cells.length > 8 ? 16 : 8)), 0);
    return 50 + (group.roles.length > 1 ? 30 : 0) + (compact ? lines * 6 : lines * 27);
  });
  const columns = columnsOf(list, heights, compact ? Math.min(2, count) : count);
  return (
    <>
      {makers === undefined ? null : <Connector makers={makers} columns={columns.length} />}
      <div className={s.columns}>
        {columns.map((column) => (
          <div key={column[0]?.group.group_id} className={s.column}>
            {column.map((node) => {
              const hasMore = node.made.groups.length + node.made.creators.length + node.made.plain.length > 0;
              const parent = node.group.parent_actor_id ? actors.get(node.group.parent_actor_id) : undefined;
              const maker = parent?.group_id ? makerName(parent, node) : null;
              return (
                <div key={node.group.group_id} className={s.column}>
                  <GroupPanel node={node} nodes={nodes} compact={compact} marks={marks} maker={maker} onOpen={onOpen} />
                  {hasMore ? (
                    <div className={s.nested}>
                      <Made branch={node.made} marks={marks} compact={compact} onOpen={onOpen} />
                    </div>
                  ) : null}
                </div>
              );
            })}
          </div>
        ))}
      </div>
    </>
  );
}

const makerName = (parent: Actor, { group }: GroupNode): string =>
  group.name && parent.rank !== null
    ? `${shortClass(parent.class_name)} ${parent.rank}`
    : shortClass(parent.class_name);

function DriverCard({ job: { driver, entrypoint, start_ns }, marks }: { job: Job; marks: Marks }) {
  const words = useWords();
  const nodes = useTable("nodes");
  const tone = driver.state ?? "unknown";
  const ip = driver.node_id ? nodeLabel(driver.node_id, nodes) : driver.ip;
  return (
    <section
      className={cx(ui.panel, s.card)}
      aria-label={words.tree.driver}
      data-testid="driver"
      data-mark={marks.ofDriver(driver.worker_id)}
      data-state={tone}
    >
      <span title={words.state[tone]}>
        <Swatch tone={tone} />
      </span>
      <span className={s.cardName}>
        <b>{words.tree.driver}</b>
        {driver.pid !== null ? <span className={cx(ui.dim, ui.mono)}>{words.tree.pid(driver.pid)}</span> : null}
      </span>
      <span className={s.meta}>
        <Since ns={driver.since_ns ?? (tone === "dead" ? null : start_ns)} className={ui.dim} />
      </span>
      <Cut mono className={ui.sec} text={driver.task_name ?? shortCommand(entrypoint)} title={entrypoint} />
      <span className={cx(ui.dim, ui.mono, s.meta)}>{ip ?? ""}</span>
    </section>
  );
}

function Maker({
  actor,
  marks,
  onOpen,
  arrow,
}: {
  actor: Actor;
  marks: Marks;
  onOpen: Props["onOpen"];
  arrow?: boolean;
}) {
  const words = useWords();
  const nodes = useTable("nodes");
  const state = stateOf(actor);
  const name = actor.name && actor.name !== actor.class_name ? actor.name : null;
  const method = methodOf(actor, words);
  const word = words.state[state].toLowerCase();
  return (
    <>
      {arrow ? (
        <span className={s.arrow}>
          <Icon name="right" size={18} />
        </span>
      ) : null}
      <button
        type="button"
        className={cx(ui.panel, s.card)}
        data-testid="maker"
        data-actor-id={actor.actor_id}
        data-state={state}
        data-mark={marks.of(actor)}
        onClick={() => onOpen(actor.actor_id)}
      >
        <span title={words.state[state]}>
          <Swatch tone={state} />
        </span>
        <span className={s.cardName}>
          <b className={ui.cut} title={actor.class_name}>
            {shortClass(actor.class_name)}
          </b>
          {name ? <Cut mono className={ui.dim} text={name} /> : null}
          {actor.pid !== null ? <span className={cx(ui.dim, ui.mono)}>{words.tree.pid(actor.pid)}</span> : null}
        </span>
        <span className={s.meta}>
          <Since ns={actor.since_ns} className={ui.dim} />
        </span>
        <span className={cx(ui.sec, ui.cut)}>
          {method ? <span className={ui.mono}>{method}</span> : null}
          {method ? <span className={ui.dim}> · {word}</span> : word}
        </span>
        <span className={cx(ui.dim, ui.mono, s.meta)}>{actor.node_id ? nodeLabel(actor.node_id, nodes) : ""}</span>
      </button>
    </>
  );
}
