import { useEffect, useRef, useState } from "react";
import type { Breakpoint } from "../../../api/types.gen";
import { useWords } from "../../../i18n";
import { Button } from "../../../ui/widgets";
import { setBreakpoint } from "../actions";
import { isHitCondition } from "../breakpoints";
import s from "../source.module.css";

interface Props {
  path: string;
  line: number;
  one: Breakpoint | undefined;
  onClose: () => void;
}

/** Condition, hit count and message of a breakpoint, below its line. */
export function BreakpointForm({ path, line, one, onClose }: Props) {
  const { debugger: t } = useWords();
  const [condition, setCondition] = useState(one?.condition ?? "");
  const [hits, setHits] = useState(one?.hitCondition ?? "");
  const [log, setLog] = useState(one?.logMessage ?? "");
  const first = useRef<HTMLInputElement>(null);
  const wrong = !isHitCondition(hits);
  useEffect(() => first.current?.focus(), []);
  const field = (label: string, hint: string, value: string, set: (text: string) => void, bad = false) => (
    <label>
      <span>{label}</span>
      <input
        ref={set === setCondition ? first : undefined}
        value={value}
        placeholder={hint}
        aria-invalid={bad || undefined}
        spellCheck={false}
        autoComplete="off"
        onChange={(event) => set(event.target.value)}
      />
    </label>
  );
  return (
    <form
      className={s.form}
      data-testid="breakpoint-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (wrong) return;
        void setBreakpoint(path, line, {
          condition: condition.trim() || null,
          hitCondition: hits.trim() || null,
          logMessage: log.trim() === "" ? null : log,
          enabled: true,
        });
        onClose();
      }}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.key === "Escape") onClose();
      }}
    >
      {field(t.condition, t.conditionHint, condition, setCondition)}
      {field(t.hitCount, t.hitCountHint, hits, setHits, wrong)}
      {field(t.logMessage, t.logMessageHint, log, setLog)}
      <div className={s.formEnd}>
        {wrong ? <span className={s.formWrong}>{t.hitCountWrong}</span> : null}
        <Button small kind="primary" type="submit" disabled={wrong}>
          {t.save}
        </Button>
        <Button small onClick={onClose}>
          {t.cancel}
        </Button>
      </div>
    </form>
  );
}
