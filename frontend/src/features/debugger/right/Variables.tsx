import { useMemo } from "react";
import type { DebugSession, Variable } from "../../../api/types.gen";
import { useWords } from "../../../i18n";
import ui from "../../../ui/ui.module.css";
import { Bone, cx, useAfter } from "../../../ui/widgets";
import { setVariable } from "../actions";
import { isStopped } from "../follow";
import { setHex, useFormat } from "../format";
import { scopeBase, shownFrame } from "../looking";
import s from "../right.module.css";
import { useReachable, useRight, useThread } from "../session";
import { useDebug } from "../state";
import { Tree } from "./Tree";

export function Variables({ session }: { session: DebugSession }) {
  const { debugger: t } = useWords();
  const shown = useDebug((state) => state.shown);
  const wanted = useDebug((state) => state.scope);
  const thread = useThread();
  const right = useRight();
  const reachable = useReachable();
  const frame = shownFrame(shown);
  const scopes = shown?.scopes ?? [];
  const scope = scopes.find((one) => one.name === wanted) ?? scopes[0];
  const now = isStopped(thread) && thread.stop === shown?.stop && thread.threadId === shown.threadId;
  const root = useMemo(
    () =>
      shown && frame && scope
        ? { base: scopeBase(frame.name, scope.name), epoch: shown.epoch, reference: scope.variablesReference }
        : null,
    [shown, frame, scope],
  );
  const edit = (variable: Variable, value: string) => setVariable(variable.evaluateName ?? variable.name, value);
  return (
    <section
      className={cx(s.section, s.grows)}
      aria-label={t.variables}
      data-testid="variables"
      data-old={!now || undefined}
    >
      <header className={s.head}>
        <h2>{t.variables}</h2>
        <span className={ui.grow} />
        {right === "act" ? <Hex /> : null}
        {scopes.length > 1 ? (
          <div className={s.tabs} role="tablist" aria-label={t.scopes}>
            {scopes.map((one) => (
              <button
                key={one.name}
                type="button"
                role="tab"
                aria-selected={one === scope}
                onClick={() => useDebug.setState({ scope: one.name })}
              >
                {one.name}
              </button>
            ))}
          </div>
        ) : null}
      </header>
      <div className={s.scroll}>
        {right !== "act" ? (
          <p className={s.hint}>{t.noValues}</p>
        ) : root ? (
          <Tree
            root={root}
            worker={session.worker_id}
            label={t.variables}
            allowed={now && reachable}
            onEdit={now && reachable && !frame?.rebuilt ? edit : undefined}
            empty={t.noVariables}
          />
        ) : isStopped(thread) ? (
          <Bones />
        ) : null}
      </div>
    </section>
  );
}

/** Of all values on the page, the console's next ones too. */
function Hex() {
  const { debugger: t } = useWords();
  const hex = useFormat((state) => state.hex);
  return (
    <button
      type="button"
      className={s.toggle}
      aria-pressed={hex}
      aria-label={t.hex}
      title={t.hex}
      data-testid="hex"
      onClick={() => setHex(!hex)}
    >
      0x
    </button>
  );
}

function Bones() {
  const late = useAfter(300);
  if (!late) return null;
  return (
    <div className={s.bones}>
      {Array.from({ length: 5 }, (_, i) => (
        <Bone key={i} width={`${45 + ((i * 37) % 50)}%`} height={10} />
      ))}
    </div>
  );
}
