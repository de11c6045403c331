import { useTable } from "../../../api/hooks";
import type { DebugSession } from "../../../api/types.gen";
import { useWords } from "../../../i18n";
import { baseName } from "../../../ui/format";
import { Swatch } from "../../../ui/Glyph";
import type { Tone } from "../../../ui/glyphs";
import ui from "../../../ui/ui.module.css";
import { Cut, cx } from "../../../ui/widgets";
import { isStopped } from "../follow";
import s from "../left.module.css";
import { useSessions } from "../session";
import { select, useDebug } from "../state";
import { nameOf } from "./members";

const TONE: Record<DebugSession["state"], Tone> = {
  attaching: "pending",
  stopped: "paused",
  running: "running",
  ended: "dead",
  failed: "failed",
};

/** Workers with a debugger that stand at no paused place: they run, have ended, or couldn't be attached to. */
export function Sessions() {
  const { debugger: t } = useWords();
  const paused = useTable("paused");
  const worker = useDebug((state) => state.worker);
  const held = new Set([...paused.values()].flatMap((site) => site.members.map((one) => one.worker_id)));
  const rows = [...useSessions().values()]
    .filter((one) => one.state !== "stopped" || !held.has(one.worker_id))
    .sort((a, b) => a.attached_ns - b.attached_ns);
  if (rows.length === 0) return null;
  return (
    <section className={s.section} aria-label={t.attached} data-testid="sessions">
      <header className={s.head}>
        <h2>{t.attached}</h2>
        <span className={ui.dim}>{rows.length}</span>
      </header>
      {rows.map((one) => {
        const thread = one.threads.find(isStopped);
        const place = thread?.file ? `${baseName(thread.file)}:${thread.line}` : null;
        return (
          <button
            key={one.worker_id}
            type="button"
            className={s.session}
            aria-current={one.worker_id === worker || undefined}
            data-testid="session"
            data-worker-id={one.worker_id}
            data-state={one.state}
            onClick={() => select(one.worker_id)}
          >
            <Swatch tone={TONE[one.state]} size={16} />
            <Cut text={nameOf(one, t)} />
            <span className={ui.grow} />
            <span className={cx(ui.dim, s.meta, place && ui.mono)}>{place ?? t.sessionState[one.state]}</span>
          </button>
        );
      })}
    </section>
  );
}
