import { useTable } from "../../api/hooks";
import type { DebugSession } from "../../api/types.gen";
import { useWords } from "../../i18n";
import { Bone, Button, CopyCommand, EmptyState, useAfter } from "../../ui/widgets";
import { attach, detach } from "./actions";
import s from "./debugger.module.css";
import { nameOf } from "./left/members";
import { useRight } from "./session";
import { useDebug } from "./state";

/** In place of the panes, as long as there is nothing to show in them. */
export function Nowhere({ session }: { session: DebugSession | null }) {
  const { debugger: t } = useWords();
  const worker = useDebug((state) => state.worker);
  return (
    <div className={s.nowhere} data-testid="nowhere">
      {session?.state === "failed" ? (
        <Failed session={session} />
      ) : session?.state === "attaching" ? (
        <Attaching who={nameOf(session, t)} />
      ) : worker === null ? (
        <Pick />
      ) : (
        <NotAttached worker={worker} />
      )}
    </div>
  );
}

function Pick() {
  const { debugger: t } = useWords();
  const paused = useTable("paused");
  if (paused.size > 0) return <EmptyState title={t.pick} body={t.pickBody} />;
  return (
    <EmptyState title={t.emptyTitle} body={t.emptyBody}>
      <CopyCommand command={t.emptyCommand} />
      <p>{t.emptyCrash}</p>
      <CopyCommand command={t.emptyCrashCommand} />
    </EmptyState>
  );
}

function NotAttached({ worker }: { worker: string }) {
  const { debugger: t } = useWords();
  const right = useRight();
  const actors = useTable("actors");
  const paused = useTable("paused");
  const jobs = useTable("jobs");
  const groups = useTable("groups");
  const member = [...paused.values()].flatMap((site) => site.members).find((one) => one.worker_id === worker);
  const actor = [...actors.values()].find((one) => one.worker_id === worker);
  const driver = [...jobs.values()].find((one) => one.driver.worker_id === worker);
  const who = member
    ? nameOf(member, t)
    : actor
      ? nameOf(
          {
            ...actor,
            group: groups.get(actor.group_id ?? "")?.name ?? null,
            worker_type: "worker",
            pid: actor.pid ?? 0,
          },
          t,
        )
      : driver
        ? t.driver
        : null;
  const over = actor?.state === "dead";
  const body = who === null || over ? t.unknownWorker : member ? t.notAttachedBody : t.notAttachedRunning;
  return (
    <EmptyState title={t.notAttached(who ?? worker.slice(0, 8))} body={body}>
      {over ? null : right === "act" ? (
        <Button kind="primary" onClick={() => void attach(worker)} data-testid="attach">
          {t.attach}
        </Button>
      ) : (
        <p>{t.askDebugger}</p>
      )}
    </EmptyState>
  );
}

/** Usually over within 0.3 s: until then nothing moves. */
function Attaching({ who }: { who: string }) {
  const { debugger: t } = useWords();
  const late = useAfter(300);
  if (!late) return null;
  return (
    <div className={s.bones} role="status" data-testid="attaching">
      <p>{t.attaching(who)}</p>
      {Array.from({ length: 9 }, (_, i) => (
        <Bone key={i} width={`${30 + ((i * 53) % 50)}%`} height={11} />
      ))}
    </div>
  );
}

function Failed({ session }: { session: DebugSession }) {
  const { debugger: t } = useWords();
  const may = useRight() === "act";
  const body = session.held_by === null ? (session.note ?? undefined) : t.heldBy(session.held_by);
  return (
    <EmptyState title={t.failedTitle} body={body}>
      {session.held_by !== null && session.note ? <p>{session.note}</p> : null}
      {may ? (
        <div className={s.row}>
          {session.held_by === null ? (
            <Button kind="primary" onClick={() => void attach(session.worker_id)}>
              {t.tryAgain}
            </Button>
          ) : (
            <Button onClick={() => void detach(session.worker_id)}>{t.stopTrying}</Button>
          )}
        </div>
      ) : null}
    </EmptyState>
  );
}
