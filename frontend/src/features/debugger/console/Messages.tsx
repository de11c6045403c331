import { useEffect, useRef, useState } from "react";
import { askDebug } from "../../../api/debug";
import { useLink } from "../../../api/stores";
import type { DapMessage, DebugSession } from "../../../api/types.gen";
import { useWords } from "../../../i18n";
import { formatTime } from "../../../ui/format";
import ui from "../../../ui/ui.module.css";
import { cx } from "../../../ui/widgets";
import s from "../console.module.css";

const MOST = 1000;

/** What went to debugpy and came from it, to read. */
export function Messages({ session }: { session: DebugSession }) {
  const { debugger: t } = useWords();
  const [held, setHeld] = useState<{ messages: DapMessage[]; end: number; dropped: number }>({
    messages: [],
    end: 0,
    dropped: 0,
  });
  const busy = useRef(false);
  const live = useLink((link) => link.phase === "live");
  const worker = session.worker_id;
  useEffect(() => {
    if (!live || busy.current || session.messages_end <= held.end) return;
    busy.current = true;
    askDebug(worker, "messages", { since: held.end })
      .then(
        (answer) =>
          setHeld((old) => ({
            messages: [...old.messages, ...answer.messages.filter((one) => one.number >= old.end)].slice(-MOST),
            end: Math.max(answer.end, old.end + 1),
            dropped: answer.dropped,
          })),
        () => undefined, // the next row asks again
      )
      .finally(() => {
        busy.current = false;
      });
  }, [worker, live, session.messages_end, held.end]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls
    <div className={s.log} tabIndex={0} role="log" aria-label={t.messages} aria-live="off" data-testid="messages">
      {held.dropped > 0 ? <p className={ui.dim}>{t.dropped(held.dropped)}</p> : null}
      {held.messages.map((one) => (
        <details key={one.number} className={s.message} data-failed={!one.success || undefined}>
          <summary>
            <span className={ui.dim}>{formatTime(one.at_ns / 1e6)}</span>
            <span role="img" aria-label={one.sent ? t.sent : t.received}>
              {one.sent ? "→" : "←"}
            </span>
            <b>{one.command}</b>
            <span className={ui.dim}>{one.kind}</span>
            {one.success ? null : <span className={cx(s.failed)}>{t.failedMessage}</span>}
            <span className={ui.grow} />
            <span className={ui.dim}>{one.took_ms === null ? "" : t.took(one.took_ms)}</span>
          </summary>
          <pre>{one.text}</pre>
        </details>
      ))}
    </div>
  );
}
