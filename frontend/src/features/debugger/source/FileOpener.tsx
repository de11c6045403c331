import { useEffect, useRef, useState } from "react";
import { askDebug, reasonOf } from "../../../api/debug";
import type { DebugSession, Module } from "../../../api/types.gen";
import { useWords } from "../../../i18n";
import { Dialog } from "../../../ui/Dialog";
import { cx } from "../../../ui/widgets";
import s from "../source.module.css";
import { showFile } from "../state";

interface Props {
  session: DebugSession;
  open: boolean;
  onClose: () => void;
}

/** Files of the modules that the worker has loaded, by what is typed. */
export function FileOpener({ session, open, onClose }: Props) {
  const { debugger: t } = useWords();
  return (
    <Dialog title={t.opener} open={open} onClose={onClose} testId="file-opener">
      <Finder worker={session.worker_id} onClose={onClose} />
    </Dialog>
  );
}

const LIMIT = 50;

function Finder({ worker, onClose }: { worker: string; onClose: () => void }) {
  const { debugger: t } = useWords();
  const [text, setText] = useState("");
  const [found, setFound] = useState<{ modules: Module[]; total: number } | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [at, setAt] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => input.current?.focus(), []);
  useEffect(() => {
    let wanted = true;
    const timer = window.setTimeout(() => {
      askDebug(worker, "modules", { text: text.trim(), limit: LIMIT }).then(
        (answer) => {
          if (!wanted) return;
          setFound(answer);
          setAt(0);
          setProblem(null);
        },
        (error: unknown) => wanted && setProblem(reasonOf(error)),
      );
    }, 80);
    return () => {
      wanted = false;
      window.clearTimeout(timer);
    };
  }, [worker, text]);
  useEffect(() => {
    list.current?.children[at]?.scrollIntoView?.({ block: "nearest" });
  }, [at]);
  const modules = found?.modules ?? [];
  const pick = (one: Module | undefined) => {
    if (!one) return;
    showFile(one.path, 1);
    onClose();
  };
  return (
    <div>
      <input
        ref={input}
        className={s.openerInput}
        role="combobox"
        aria-expanded={modules.length > 0}
        aria-controls="opener-list"
        aria-activedescendant={modules[at] ? `opener-${at}` : undefined}
        aria-label={t.openerHint}
        placeholder={t.openerHint}
        value={text}
        spellCheck={false}
        autoComplete="off"
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "ArrowDown") setAt(Math.min(modules.length - 1, at + 1));
          else if (event.key === "ArrowUp") setAt(Math.max(0, at - 1));
          else if (event.key === "Enter") pick(modules[at]);
          else return;
          event.preventDefault();
        }}
      />
      <div ref={list} id="opener-list" role="listbox" aria-label={t.openerResults} className={s.openerList}>
        {modules.map((one, i) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: keys are the field's
          // biome-ignore lint/a11y/useFocusableInteractive: the field has the focus
          <div
            key={`${one.name} ${one.path}`}
            id={`opener-${i}`}
            role="option"
            aria-selected={i === at}
            className={cx(s.openerItem)}
            onClick={() => pick(one)}
          >
            <b>{one.name}</b>
            <span title={one.path}>{one.path}</span>
          </div>
        ))}
      </div>
      {problem !== null ? <p className={s.hint}>{problem}</p> : null}
      {found && modules.length === 0 ? <p className={s.hint}>{t.openerNone}</p> : null}
      {found && found.total > modules.length && modules.length > 0 ? (
        <p className={s.hint}>{t.openerMore(modules.length, found.total)}</p>
      ) : null}
    </div>
  );
}
