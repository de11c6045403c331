import * as Menu from "@radix-ui/react-dropdown-menu";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { askDebug, type StepInTarget } from "../../api/debug";
import type { DebugSession } from "../../api/types.gen";
import { type Catalog, useWords } from "../../i18n";
import { Icon } from "../../ui/Glyph";
import ui from "../../ui/ui.module.css";
import { Chip, cx } from "../../ui/widgets";
import { attach, detach, type Step, step } from "./actions";
import s from "./debugger.module.css";
import { isStopped } from "./follow";
import { nameOf } from "./left/members";
import { shownFrame } from "./looking";
import { useBusy, useReachable, useRight, useThread } from "./session";
import { useDebug } from "./state";

const PATHS = {
  continue: "M3.5 3.5v9M6.5 4v8l6-4z",
  pause: "M6 4v8M10 4v8",
  next: "M3 9.5a5 5 0 0 1 9.5-1.5M12.5 4.5V8H9M8 12.5h.01",
  stepIn: "M8 2.5v6M5.5 6 8 8.5 10.5 6M8 12.5h.01",
  stepOut: "M8 8.5v-6M5.5 5 8 2.5 10.5 5M8 12.5h.01",
  detach:
    "M6.5 9.5 4.7 11.3a2.2 2.2 0 0 1-3-3L4 6M9.5 6.5l1.8-1.8a2.2 2.2 0 0 1 3 3L12 10M5.5 3v-1M3 5.5H2M10.5 13v1M13 10.5h1",
} as const;

function ToolIcon({ name }: { name: keyof typeof PATHS }) {
  return (
    <svg className={ui.icon} style={{ width: 15, height: 15 }} viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}

type Act = Step | "detach";
type Why = keyof Catalog["debugger"]["why"] | "role" | null;

/** Why a control is off; null: it is on. */
export function whyOff(
  what: Act,
  at: {
    may: boolean;
    reachable: boolean;
    state: DebugSession["state"] | null;
    stopped: boolean;
    busy: boolean;
    rebuilt: boolean;
  },
): Why {
  if (!at.may) return "role";
  if (at.state === null) return "noSession";
  if (what === "detach") return at.state === "ended" ? "ended" : at.reachable ? null : "lost";
  if (at.state === "ended" || at.state === "failed") return "ended";
  if (at.state === "attaching") return "noSession";
  if (!at.reachable) return "lost";
  if (what === "pause") return at.stopped ? "stopped" : null;
  if (!at.stopped) return "running";
  if (at.busy) return "busy";
  return at.rebuilt && what !== "continue" ? "rebuilt" : null;
}

export function Toolbar({ session }: { session: DebugSession | null }) {
  const words = useWords();
  const t = words.debugger;
  const thread = useThread();
  const may = useRight() === "act";
  const reachable = useReachable();
  const rebuilt = thread?.unwound ?? false;
  const allThreads = useDebug((state) => state.allThreads);
  const worker = useDebug((state) => state.worker);
  const stopped = isStopped(thread);
  const busy = useBusy(session, thread);
  const off = (what: Act) => whyOff(what, { may, reachable, state: session?.state ?? null, stopped, busy, rebuilt });
  const tool = (what: Act, label: string, primary = false) => (
    <Tool name={what} label={label} off={off(what)} primary={primary} />
  );
  const attachable = worker !== null && (session === null || session.state === "ended" || session.state === "failed");
  return (
    <div className={s.toolbar} role="toolbar" aria-label={t.toolbar}>
      <div className={s.tools}>
        {/* Both stay in their places: what is pressed again and again must not move. */}
        {tool("continue", t.continue, true)}
        {tool("pause", t.pause)}
        {tool("next", t.over)}
        {tool("stepIn", t.into)}
        <Targets off={off("stepIn")} session={session} />
        {tool("stepOut", t.out)}
      </div>
      <div className={s.tools}>{attachable && may ? <AttachTool worker={worker} /> : tool("detach", t.detach)}</div>
      <label className={s.switch} title={t.allThreadsTitle}>
        <input
          type="checkbox"
          checked={allThreads}
          onChange={(event) => useDebug.setState({ allThreads: event.target.checked })}
        />
        {t.allThreads}
      </label>
      <span className={ui.grow} />
      {session ? <Marks session={session} /> : null}
    </div>
  );
}

function AttachTool({ worker }: { worker: string }) {
  const { debugger: t } = useWords();
  return (
    <button type="button" className={s.tool} onClick={() => void attach(worker)} data-testid="tool-attach">
      {t.attach}
    </button>
  );
}

function Tool({ name, label, off, primary }: { name: Act; label: string; off: Why; primary: boolean }) {
  const { debugger: t } = useWords();
  const worker = useDebug((state) => state.worker);
  const title =
    off === null
      ? t.withKey(label, t.keyOf[name])
      : t.because(t.withKey(label, t.keyOf[name]), off === "role" ? t.askDebugger : t.why[off]);
  // aria-disabled, not disabled: a step that runs must not take the focus away.
  return (
    <button
      type="button"
      className={cx(s.tool, primary && s.primary)}
      aria-disabled={off !== null}
      title={title}
      data-testid={`tool-${name}`}
      onClick={() => {
        if (off !== null) return;
        if (name === "detach") {
          if (worker) void detach(worker);
        } else void step(name);
      }}
    >
      <ToolIcon name={name} />
      {label}
    </button>
  );
}

const showTargets = (open: boolean): void => useDebug.setState({ targetsOpen: open });

/** The calls that are to come in this function, to step into one of them. */
function Targets({ off, session }: { off: Why; session: DebugSession | null }) {
  const { debugger: t } = useWords();
  const [targets, setTargets] = useState<StepInTarget[] | null>(null);
  const wanted = useDebug((state) => state.targetsOpen);
  const epoch = useDebug((state) => state.shown?.epoch);
  const frameId = useDebug((state) => shownFrame(state.shown)?.id ?? null);
  const list = useRef<HTMLDivElement>(null);
  const worker = session?.worker_id ?? null;
  const possible = off === null && frameId !== null && worker !== null;
  const open = wanted && possible;
  // Where the thread went on, by a key or by another's hand, there is nothing to choose any more.
  useEffect(() => {
    if (wanted && !possible) showTargets(false);
  }, [wanted, possible]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each stop has its own
  useEffect(() => {
    setTargets(null);
    if (!open || worker === null || frameId === null) return;
    let current = true;
    askDebug(worker, "stepInTargets", { frameId }).then(
      (answer) => current && setTargets(answer.targets),
      () => current && setTargets([]),
    );
    return () => {
      current = false;
    };
  }, [open, worker, frameId, epoch]);
  // They come after the menu has opened, which has given the focus to none then.
  useEffect(() => {
    if (targets) list.current?.querySelector<HTMLElement>("[role=menuitem]")?.focus();
  }, [targets]);
  return (
    <Menu.Root open={open} onOpenChange={showTargets}>
      <Menu.Trigger
        className={cx(s.tool, s.caret)}
        disabled={off !== null || frameId === null}
        aria-label={t.intoTargets}
        title={t.withKey(t.intoTargets, t.keyOf.targets)}
        data-testid="tool-targets"
      >
        <Icon name="chevron" size={12} />
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Content ref={list} className={ui.menu} align="start" sideOffset={4} data-testid="targets">
          {(targets ?? []).map((target) => (
            <Menu.Item key={target.id} className={ui.menuItem} onSelect={() => void step("stepIn", target.id)}>
              <span className={cx(ui.mono, ui.cut)} title={target.label}>
                {target.label}
              </span>
              {target.line ? <span className={ui.dim}>{t.line(target.line)}</span> : null}
            </Menu.Item>
          ))}
          {targets?.length === 0 ? <Menu.Label className={ui.menuLabel}>{t.noTargets}</Menu.Label> : null}
          {targets === null ? <Menu.Label className={ui.menuLabel}>{t.loading}</Menu.Label> : null}
        </Menu.Content>
      </Menu.Portal>
    </Menu.Root>
  );
}

function Marks({ session }: { session: DebugSession }): ReactNode {
  const { debugger: t } = useWords();
  return (
    <>
      {session.post_mortem ? <Chip tone="failed">{t.postMortem}</Chip> : null}
      {session.tracing ? (
        <Chip tone="slow" title={t.tracingTitle}>
          {t.tracing}
        </Chip>
      ) : null}
      {session.keeper ? null : <Chip title={t.noKeeperTitle}>{t.noKeeper}</Chip>}
      <span className={cx(ui.sec, ui.nowrap)} data-testid="session-name">
        {nameOf(session, t)} <span className={ui.dim}>{t.sessionState[session.state]}</span>
      </span>
    </>
  );
}
