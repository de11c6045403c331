import { useEffect } from "react";
import type { DebugSession } from "../../api/types.gen";
import { useWords } from "../../i18n";
import { formatTime } from "../../ui/format";
import { Icon, StateGlyph } from "../../ui/Glyph";
import ui from "../../ui/ui.module.css";
import { cx } from "../../ui/widgets";
import s from "./debugger.module.css";
import { notify, useDebug } from "./state";

/** What makes the page other than it seems, and what went wrong last. */
export function Bars({ session }: { session: DebugSession | null }) {
  const { debugger: t, app } = useWords();
  const notice = useDebug((state) => state.notice);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => event.key === "Escape" && useDebug.getState().notice && notify(null);
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, []);
  return (
    <>
      {session?.state === "ended" ? (
        <div className={s.bar} data-tone="dead" role="status" data-testid="ended-bar">
          <StateGlyph tone="dead" size={12} />
          {t.endedBar(session.note)}
        </div>
      ) : null}
      {session?.lost_ns != null && session.state !== "ended" ? (
        <div className={s.bar} data-tone="slow" role="status" data-testid="lost-bar">
          <StateGlyph tone="slow" size={12} />
          {t.lostBar(formatTime(session.lost_ns / 1e6))}
        </div>
      ) : null}
      {notice ? (
        <div key={notice.number} className={s.bar} data-tone="failed" role="alert" data-testid="debugger-notice">
          <StateGlyph tone="failed" size={11} />
          <span className={s.barText}>{notice.text}</span>
          <button
            type="button"
            className={cx(ui.control, ui.square, s.dismiss)}
            aria-label={t.dismiss}
            title={app.close}
            onClick={() => notify(null)}
          >
            <Icon name="close" size={13} />
          </button>
        </div>
      ) : null}
    </>
  );
}
