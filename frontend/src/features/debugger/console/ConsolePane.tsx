import { useRef, useState } from "react";
import type { DebugSession } from "../../../api/types.gen";
import { useWords } from "../../../i18n";
import ui from "../../../ui/ui.module.css";
import { cx } from "../../../ui/widgets";
import s from "../console.module.css";
import { useRight, useThread } from "../session";
import { Grip } from "./Grip";
import { Log } from "./Log";
import { Messages } from "./Messages";
import { Prompt } from "./Prompt";

export function ConsolePane({ session }: { session: DebugSession }) {
  const { debugger: t } = useWords();
  const [tab, setTab] = useState<"console" | "messages">("console");
  const thread = useThread();
  const may = useRight() === "act";
  const pane = useRef<HTMLElement>(null);
  return (
    <section ref={pane} id="debugger-console" className={s.pane} aria-label={t.console} data-testid="console">
      <Grip pane={pane} />
      <header className={s.head}>
        <div className={s.tabs} role="tablist" aria-label={t.console}>
          {(["console", "messages"] as const).map((one) => (
            <button key={one} type="button" role="tab" aria-selected={tab === one} onClick={() => setTab(one)}>
              {t[one]}
            </button>
          ))}
        </div>
        <span className={ui.grow} />
        <span className={cx(ui.dim, ui.cut)}>
          {tab === "messages" || !may ? "" : thread?.state === "running" ? t.promptRunning : t.runs}
        </span>
      </header>
      {!may ? (
        <p className={s.hint}>{t.noValues}</p>
      ) : tab === "console" ? (
        <>
          <Log key={`log ${session.worker_id}`} session={session} />
          <Prompt key={`prompt ${session.worker_id}`} session={session} />
        </>
      ) : (
        <Messages session={session} />
      )}
    </section>
  );
}
