import { useEffect, useMemo, useState } from "react";
import { useLink } from "../../../api/stores";
import type { DebugSession, Variable } from "../../../api/types.gen";
import { useWords } from "../../../i18n";
import { Icon } from "../../../ui/Glyph";
import ui from "../../../ui/ui.module.css";
import { cx } from "../../../ui/widgets";
import { shownFrame } from "../looking";
import s from "../right.module.css";
import { useRight, useThread } from "../session";
import { useDebug } from "../state";
import { Tree } from "./Tree";
import { addWatch, evaluateWatch, removeWatch, useWatches } from "./watchStore";

export function Watches({ session }: { session: DebugSession }) {
  const { debugger: t } = useWords();
  const expressions = useWatches((state) => state.expressions);
  const values = useWatches((state) => state.values);
  const shown = useDebug((state) => state.shown);
  const thread = useThread();
  const live = useLink((link) => link.phase === "live");
  const may = useRight() === "act";
  const [text, setText] = useState("");
  const frame = shownFrame(shown);
  const now =
    shown !== null && thread?.state === "stopped" && thread.stop === shown.stop && thread.threadId === shown.threadId;
  const epoch = shown ? `${shown.epoch}/${shown.index}` : "";
  const worker = session.worker_id;
  useEffect(() => {
    if (!now || !frame || !may || !live) return;
    for (const expression of expressions) void evaluateWatch(worker, expression, frame.id, epoch);
  }, [expressions, epoch, now, frame, may, live, worker]);

  const rows: Variable[] = useMemo(
    () =>
      expressions.map((expression) => {
        const held = values.get(expression);
        const waiting = held?.value?.waiting ? t.stillRunning : null;
        return {
          name: expression,
          value: held?.error ?? waiting ?? held?.value?.result ?? t.notEvaluated,
          type: held?.error ? "error" : waiting || !held?.value ? "none" : (held.value.type ?? ""),
          variablesReference: held?.error || held?.of !== epoch ? 0 : (held?.value?.variablesReference ?? 0),
          evaluateName: expression,
          summary: held?.error ? null : (held?.value?.summary ?? null),
        };
      }),
    [expressions, values, epoch, t],
  );
  const root = useMemo(() => ({ base: "w", epoch, variables: rows }), [epoch, rows]);
  return (
    <section className={cx(s.section, s.watch)} aria-label={t.watch} data-testid="watches" data-old={!now || undefined}>
      <header className={s.head}>
        <h2>{t.watch}</h2>
        <span className={ui.dim}>{expressions.length || ""}</span>
      </header>
      <div className={s.scroll}>
        <Tree
          root={root}
          worker={worker}
          label={t.watch}
          allowed={may && now}
          before={(variable) => (
            <button
              type="button"
              className={s.remove}
              tabIndex={-1}
              aria-label={t.removeWatch(variable.name)}
              title={t.removeWatch(variable.name)}
              onClick={(event) => {
                event.stopPropagation();
                removeWatch(variable.name);
              }}
            >
              <Icon name="close" size={11} />
            </button>
          )}
        />
        <form
          className={s.add}
          onSubmit={(event) => {
            event.preventDefault();
            addWatch(text);
            setText("");
          }}
        >
          <input
            className={s.input}
            aria-label={t.addWatchTitle}
            placeholder={expressions.length === 0 ? t.noWatches : t.watchPlaceholder}
            value={text}
            disabled={!may}
            title={may ? undefined : t.askDebugger}
            spellCheck={false}
            autoComplete="off"
            onChange={(event) => setText(event.target.value)}
          />
        </form>
      </div>
    </section>
  );
}
