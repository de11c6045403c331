import type { DebugSession } from "../../api/types.gen";
import { useWords } from "../../i18n";
import { baseName } from "../../ui/format";
import ui from "../../ui/ui.module.css";
import { isStopped } from "./follow";
import { useThread } from "./session";

/** Each stop, for who hears the page. While a thread runs the last one stays: a step is no news of its own. */
export function Said({ session }: { session: DebugSession | null }) {
  const { debugger: t } = useWords();
  const thread = useThread();
  const place = isStopped(thread) && thread.file ? `${baseName(thread.file)}:${thread.line ?? "?"}` : null;
  const text =
    session?.state === "ended" || session?.state === "failed"
      ? t.sessionState[session.state]
      : place
        ? t.said(place, thread?.function ?? null)
        : "";
  return (
    <span className={ui.hidden} role="status" aria-live="polite" data-testid="debugger-said">
      {text}
    </span>
  );
}
