import { Link } from "@tanstack/react-router";
import { type ReactNode, useEffect, useMemo, useState } from "react";
import { hubNow, useClock } from "../../../api/clock";
import { attachByLink } from "../../../api/debug";
import { useTable } from "../../../api/hooks";
import { useLink } from "../../../api/stores";
import type { Pause, Task } from "../../../api/types.gen";
import { useWords } from "../../../i18n";
import { copyText } from "../../../ui/copy";
import { baseName, shortId } from "../../../ui/format";
import { Icon, Swatch } from "../../../ui/Glyph";
import ui from "../../../ui/ui.module.css";
import { Button, CopyButton, Cut, cx } from "../../../ui/widgets";
import { phaseOf, phaseToken } from "../phases";
import { select, type TaskRef, useTimeline } from "../state";
import { clockTime, duration } from "../times";
import { hasEnded, markState, useTasks, useVersion } from "./ask";
import { dots, sameCall } from "./calls";
import { show } from "./jump";
import { toneOf } from "./look";
import s from "./panel.module.css";
import { lanePath } from "./Search";

const CHILDREN = 100;
/** So many calls of the same name around this one are looked through for those of the other ranks. */
const LOOKED_THROUGH = 1000;
const AROUND_NS = 5e9;

/** All that is known of the selected attempt, in a strip at the foot of the view. */
export function Details() {
  const selected = useTimeline((state) => state.selected);
  const jobId = useTimeline((state) => state.jobId);
  if (selected === null || jobId === null) return null;
  return <Selected key={`${selected.task_id}:${selected.attempt}`} jobId={jobId} selected={selected} />;
}

function Selected({ jobId, selected }: { jobId: string; selected: TaskRef }) {
  const t = useWords().timelinePanel;
  const version = useVersion(jobId);
  const [ended, setEnded] = useState(false);
  // What finished a while ago doesn't change any more; its owner says the end before its worker says the start.
  const { answer, error } = useTasks({ job_id: jobId, task_id: selected.task_id }, ended ? null : version);
  const attempts = answer?.tasks ?? [];
  const task = attempts.find((one) => one.attempt === selected.attempt) ?? attempts.at(-1);
  const over = task !== undefined && task.state !== "FAILED" && hasEnded(task) && settled(task);
  if (over !== ended) setEnded(over);
  if (task) return <Known task={task} attempts={attempts} wanted={selected.attempt} />;
  return (
    <section className={s.details} aria-label={t.details} data-testid="task-details">
      <header className={s.head}>
        <span className={ui.dim}>
          {error === null
            ? t.asking
            : error === "lost"
              ? t.lostAnswer
              : error.code === "unknown"
                ? t.notHeld
                : error.message}
        </span>
        <span className={cx(ui.mono, ui.dim)}>{shortId(selected.task_id)}</span>
        <span className={ui.grow} />
        <Close />
      </header>
    </section>
  );
}

/** Workers report each second, late under load: after so long nothing more is to come. */
const SETTLED_MS = 15_000;
const settled = (task: Task): boolean => hubNow() - (task.end_ns ?? 0) / 1e6 > SETTLED_MS;

function Close() {
  const words = useWords();
  return (
    <button
      type="button"
      className={cx(ui.control, ui.square)}
      aria-label={words.app.close}
      title={words.app.close}
      onClick={() => select(null)}
    >
      <Icon name="close" />
    </button>
  );
}

/** `wanted`: the attempt that is selected; where it isn't held, `task` is another one. */
function Known({ task, attempts, wanted }: { task: Task; attempts: readonly Task[]; wanted: number }) {
  const words = useWords();
  const t = words.timelinePanel;
  const pauses = useTable("pauses");
  const pause = useMemo(
    () =>
      [...pauses.values()].find(
        (one) => one.end_ns === null && one.worker_id === task.worker_id && one.candidates.includes(task.task_id),
      ),
    [pauses, task],
  );
  const held = pause?.exact ? "paused" : null;
  const state = held ?? markState(task);
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = window.setTimeout(() => setCopied(false), 1500);
    return () => window.clearTimeout(timer);
  }, [copied]);
  return (
    <section className={s.details} aria-label={t.details} data-testid="task-details" data-tone={toneOf(state)}>
      <header className={s.head}>
        <i
          className={s.phase}
          style={{ background: `var(${phaseToken(phaseOf(task.name ?? ""))})` }}
          aria-hidden="true"
        />
        <b className={cx(ui.mono, ui.cut)}>{task.name ?? words.timeline.unnamed}</b>
        <LaneName task={task} />
        <span className={s.state}>
          <Swatch tone={toneOf(state)} size={16} /> {words.timeline.states[state]}
        </span>
        {wanted === task.attempt ? null : <span className={ui.dim}>{t.attemptNotHeld(wanted)}</span>}
        <span className={ui.grow} />
        <Button
          small
          onClick={async () => {
            if (await copyText(window.location.href)) setCopied(true);
          }}
        >
          {copied ? words.app.copied : t.copyLink}
        </Button>
        <Close />
      </header>
      <div className={s.panes}>
        <Facts task={task} attempts={attempts} pause={pause} />
        <SameCall task={task} />
        <Family task={task} />
      </div>
    </section>
  );
}

function LaneName({ task }: { task: Task }) {
  const lanes = useTable("lanes");
  const path = lanePath(task.lane_id, lanes);
  return path === "" ? null : <span className={cx(ui.dim, ui.cut)}>{path}</span>;
}

function Fact({ name, copy, children }: { name: string; copy?: string; children: ReactNode }) {
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

function Facts({ task, attempts, pause }: { task: Task; attempts: readonly Task[]; pause: Pause | undefined }) {
  const words = useWords();
  const t = words.timelinePanel;
  const nodes = useTable("nodes");
  const node = task.node_id === null ? undefined : nodes.get(task.node_id);
  const where = [
    node ? (node.hostname ? `${node.hostname} (${node.ip})` : node.ip) : task.node_id && shortId(task.node_id),
    task.pid === null ? null : t.pid(task.pid),
  ].filter(Boolean);
  return (
    <dl className={s.facts}>
      <Fact name={t.ran}>
        <Ran task={task} />
      </Fact>
      <Fact name={t.before}>
        {task.submit_ns === null
          ? words.app.unknown
          : t.submitted(
              clockTime(task.submit_ns, 1e9),
              task.start_ns === null ? null : duration(Math.max(0, task.start_ns - task.submit_ns)),
            )}
      </Fact>
      <Fact name={t.where}>
        <Cut mono text={where.length > 0 ? where.join(" · ") : t.nowhere} />
      </Fact>
      <Fact name={t.taskId} copy={task.task_id}>
        <Cut mono text={task.task_id} />
      </Fact>
      {task.worker_id === null ? null : (
        <Fact name={t.worker} copy={task.worker_id}>
          <Cut mono text={task.worker_id} />
        </Fact>
      )}
      <Fact name={t.attempt}>
        <span className={s.attempts}>
          {attempts.map((one) => (
            <button
              key={one.attempt}
              type="button"
              className={s.link}
              aria-current={one.attempt === task.attempt || undefined}
              title={words.timeline.states[markState(one)]}
              onClick={() => show(one, hubNow() * 1e6)}
            >
              {one.attempt + 1}
            </button>
          ))}
          <span className={ui.dim}>{t.rayState(task.state)}</span>
        </span>
      </Fact>
      {pause ? (
        <Fact name={t.pausedAt}>
          <Link to="/overview" search={{ job: task.job_id, site: pause.site_id } as never} className={s.link}>
            {pause.file === null ? t.placeUnknown : `${baseName(pause.file)}:${pause.line ?? "?"}`}
          </Link>
          <span className={ui.dim}>{pause.exact ? "" : t.oneOf(pause.candidates.length)}</span>
          <Link
            to="/debugger"
            search={{ job: task.job_id, worker: pause.worker_id } as never}
            className={s.link}
            onClick={() => attachByLink(pause.worker_id)}
          >
            {words.paused.debug}
          </Link>
        </Fact>
      ) : null}
      <ErrorText task={task} />
    </dl>
  );
}

function Ran({ task }: { task: Task }) {
  const t = useWords().timelinePanel;
  const now = useClock((clock) => clock.now) * 1e6;
  const { start_ns: start, end_ns: end } = task;
  if (start === null) return <>{end === null ? t.notYet : t.startUnknown(clockTime(end, 1e9))}</>;
  const long = Math.max(0, (end ?? now) - start);
  return (
    <span className={ui.num}>
      <b>{duration(long)}</b> {clockTime(start, 1e9)} → {end === null ? t.runs : clockTime(end, 1e9)}
    </span>
  );
}

function ErrorText({ task }: { task: Task }) {
  const t = useWords().timelinePanel;
  const role = useLink((link) => link.welcome?.role);
  if (task.error_type === null) return null;
  return (
    <div className={s.error}>
      <dt>{t.error}</dt>
      <dd>
        <code>{task.error_type}</code>
        {task.error_message !== null ? (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls
          <pre tabIndex={0}>{task.error_message}</pre>
        ) : role === "anonymous" ? (
          <span className={ui.dim}>{t.messageHidden}</span>
        ) : null}
      </dd>
    </div>
  );
}

/** The durations of the same call on all ranks, this one marked. */
function SameCall({ task }: { task: Task }) {
  const t = useWords().timelinePanel;
  const actors = useTable("actors");
  const known = task.group_id !== null && task.parent_task_id !== null && task.submit_ns !== null;
  const around = task.submit_ns ?? 0;
  const version = useVersion(task.job_id);
  const [open, setOpen] = useState(false);
  const { answer } = useTasks(
    known && task.end_ns !== null
      ? {
          job_id: task.job_id,
          parent_task_id: task.parent_task_id,
          text: task.name ?? "",
          after_ns: around - AROUND_NS,
          before_ns: around + AROUND_NS,
          limit: LOOKED_THROUGH,
        }
      : null,
    open ? version : null,
  );
  const pending = answer?.tasks.some((one) => !hasEnded(one)) ?? false;
  if (pending !== open) setOpen(pending);
  // Where there are more than came, the nearest of a rank may be among those that are missing.
  const whole = answer !== null && answer.total <= answer.tasks.length;
  const found = useMemo(() => (whole && answer ? sameCall(task, answer.tasks) : null), [answer, whole, task]);
  if (!known || !found) return <div className={s.same} />;
  const placed = dots(found, 48);
  const all = found.peers.map((peer) => peer.ran);
  const low = Math.min(...all);
  const high = Math.max(...all);
  const others = found.peers.length - 1;
  return (
    <div className={s.same}>
      <h3>{t.sameCall(found.peers.length, found.faster, others, found.open)}</h3>
      <div className={s.dots}>
        {placed.map(({ peer, x, row }) => (
          <button
            key={`${peer.task.task_id}:${peer.task.attempt}`}
            type="button"
            className={s.dot}
            style={{ left: `${x * 100}%`, bottom: `${Math.min(row, 12) * 7}px` }}
            data-own={peer === found.own || undefined}
            aria-label={t.dot(actors.get(peer.task.actor_id ?? "")?.rank ?? peer.task.rank, duration(peer.ran))}
            title={t.dot(actors.get(peer.task.actor_id ?? "")?.rank ?? peer.task.rank, duration(peer.ran))}
            onClick={() => show(peer.task, hubNow() * 1e6)}
          />
        ))}
        {high > low ? (
          <i
            className={s.median}
            style={{ left: `${((found.median - low) / (high - low)) * 100}%` }}
            aria-hidden="true"
          />
        ) : null}
      </div>
      <div className={cx(s.axis, ui.num)}>
        <span>{duration(low)}</span>
        <span>{t.median(duration(found.median))}</span>
        <span>{duration(high)}</span>
      </div>
    </div>
  );
}

/** Who submitted it, and what it submitted itself. */
function Family({ task }: { task: Task }) {
  const words = useWords();
  const t = words.timelinePanel;
  const parent = useTasks(
    task.parent_task_id === null ? null : { job_id: task.job_id, task_id: task.parent_task_id },
    null,
  );
  const version = useVersion(task.job_id);
  const [open, setOpen] = useState(false);
  const again = open ? version : task.children;
  const question = { job_id: task.job_id, parent_task_id: task.task_id };
  const failed = useTasks(task.children > 0 ? { ...question, states: ["failed"], limit: CHILDREN } : null, again);
  const children = useTasks(task.children > 0 ? { ...question, limit: CHILDREN } : null, again);
  const pending = children.answer?.tasks.some((one) => !hasEnded(one)) ?? false;
  if (pending !== open) setOpen(pending);
  const list = useMemo(() => {
    const first = failed.answer?.tasks ?? [];
    const bad = new Set(first.map((one) => `${one.task_id}:${one.attempt}`));
    const rest = (children.answer?.tasks ?? []).filter((one) => !bad.has(`${one.task_id}:${one.attempt}`));
    return [...first, ...rest].slice(0, CHILDREN);
  }, [failed.answer, children.answer]);
  const own = parent.answer?.tasks.at(-1);
  return (
    <div className={s.family}>
      <h3>{t.family}</h3>
      <ul>
        {own ? (
          <Relative task={own} arrow="↑" />
        ) : (
          <li className={ui.dim}>
            {task.parent_task_id === null
              ? t.noParent
              : parent.error === null || parent.error === "lost"
                ? t.asking
                : t.parentNotHeld(shortId(task.parent_task_id))}
          </li>
        )}
        {list.map((one) => (
          <Relative key={`${one.task_id}:${one.attempt}`} task={one} arrow="↓" />
        ))}
        {task.children > list.length && children.answer ? (
          <li className={ui.dim}>{t.moreChildren(task.children - list.length)}</li>
        ) : null}
      </ul>
    </div>
  );
}

function Relative({ task, arrow }: { task: Task; arrow: string }) {
  const words = useWords();
  const lanes = useTable("lanes");
  const state = markState(task);
  return (
    <li>
      <button type="button" className={s.relative} data-tone={toneOf(state)} onClick={() => show(task, hubNow() * 1e6)}>
        <span aria-hidden="true">{arrow}</span>
        <span className={cx(ui.mono, ui.cut)}>{task.name ?? words.timeline.unnamed}</span>
        <span className={cx(ui.dim, ui.cut)}>
          {lanePath(task.lane_id, lanes)}
          {state === "failed" ? ` · ${words.timeline.states.failed}` : ""}
        </span>
        <span className={ui.num}>
          {task.start_ns !== null && task.end_ns !== null ? duration(task.end_ns - task.start_ns) : ""}
        </span>
      </button>
    </li>
  );
}
