import { useState } from "react";
import type { Breakpoint, DebugSession } from "../../../api/types.gen";
import { useWords } from "../../../i18n";
import { baseName } from "../../../ui/format";
import { Icon } from "../../../ui/Glyph";
import ui from "../../../ui/ui.module.css";
import { cx } from "../../../ui/widgets";
import { setBreakpoint, setFilters, setFunctions } from "../actions";
import { asked, isHollow, problemOf, shapeOf } from "../breakpoints";
import s from "../left.module.css";
import { useReachable, useRight } from "../session";
import { showFile } from "../state";
import { BreakpointShape } from "./BreakpointShape";

export function Breakpoints({ session }: { session: DebugSession }) {
  const { debugger: t } = useWords();
  const may = useRight() === "act";
  const reachable = useReachable();
  const ended = session.state === "ended" || session.state === "failed" || session.state === "attaching";
  const off = !may || !reachable || ended;
  const why = may ? undefined : t.askDebugger;
  const lines = [...session.breakpoints].sort((a, b) => a.path.localeCompare(b.path) || a.line - b.line);
  return (
    <section className={s.section} aria-label={t.breakpoints} data-testid="breakpoints">
      <header className={s.head}>
        <h2>{t.breakpoints}</h2>
        <span className={ui.dim}>{lines.length + session.functions.length || ""}</span>
      </header>
      {lines.length === 0 ? <p className={s.hint}>{may ? t.noBreakpoints : t.noBreakpointsToSee}</p> : null}
      {lines.map((one) => (
        <LineBreakpoint key={`${one.path}:${one.line}`} one={one} off={off} why={why} />
      ))}
      <Functions session={session} off={off} why={why} />
      <Filters session={session} off={off} why={why} />
    </section>
  );
}

interface RowProps {
  off: boolean;
  why: string | undefined;
}

function LineBreakpoint({ one, off, why }: RowProps & { one: Breakpoint }) {
  const { debugger: t } = useWords();
  const place = `${baseName(one.path)}:${one.line}`;
  const shape = shapeOf(one);
  const problem = problemOf(one);
  const details = [
    one.logMessage ? t.logText(one.logMessage) : null,
    one.condition ? t.when(one.condition) : null,
    one.hitCondition ? t.onHits(one.hitCondition) : null,
  ].filter(Boolean);
  const { line: _line, ...rest } = asked(one);
  return (
    <div
      className={s.breakpoint}
      data-testid="breakpoint"
      data-line={one.line}
      data-verified={one.verified}
      data-enabled={one.enabled ?? true}
    >
      <input
        type="checkbox"
        aria-label={t.enable(place)}
        checked={one.enabled}
        disabled={off}
        title={why}
        onChange={(event) => void setBreakpoint(one.path, one.line, { ...rest, enabled: event.target.checked })}
      />
      <BreakpointShape shape={shape} hollow={isHollow(one)} off={!one.enabled} />
      <button
        type="button"
        className={cx(ui.mono, ui.cut)}
        title={`${one.path}:${one.line}`}
        aria-label={t.showBreakpoint(place)}
        onClick={() => showFile(one.path, one.line)}
      >
        {place}
      </button>
      <span className={cx(ui.dim, ui.num, s.meta)}>
        {one.enabled ? (shape === "log" ? t.logs(one.hits) : t.hits(one.hits)) : t.off}
      </span>
      <Remove what={place} off={off} why={why} onClick={() => void setBreakpoint(one.path, one.line, null)} />
      {details.length > 0 ? (
        <span className={cx(s.detail, ui.cut)} title={details.join(", ")}>
          {details.join(", ")}
        </span>
      ) : null}
      {problem ? (
        <span className={s.problem} data-testid="breakpoint-problem">
          {problem}
        </span>
      ) : null}
    </div>
  );
}

function Remove({ what, off, why, onClick }: RowProps & { what: string; onClick: () => void }) {
  const { debugger: t } = useWords();
  return (
    <button
      type="button"
      className={s.remove}
      aria-label={t.remove(what)}
      title={why ?? t.remove(what)}
      disabled={off}
      onClick={onClick}
    >
      <Icon name="close" size={12} />
    </button>
  );
}

function Functions({ session, off, why }: RowProps & { session: DebugSession }) {
  const { debugger: t } = useWords();
  const set = (names: string[]) => void setFunctions(session.worker_id, names);
  const label = t.addFunction;
  return (
    <Names
      names={session.functions}
      testId="function-breakpoint"
      {...{ label, placeholder: t.functionPlaceholder, set, off, why }}
    />
  );
}

interface NamesProps extends RowProps {
  names: readonly string[];
  testId: string;
  label: string;
  placeholder: string;
  set: (names: string[]) => void;
}

/** Names that stop a thread, and a field for one more. */
function Names({ names, testId, label, placeholder, set, off, why }: NamesProps) {
  const [text, setText] = useState("");
  return (
    <>
      {names.map((name) => (
        <div key={name} className={s.breakpoint} data-testid={testId}>
          <span />
          <BreakpointShape shape="dot" hollow={false} off={false} />
          <span className={cx(ui.mono, ui.cut)} title={name}>
            {name}
          </span>
          <span />
          <Remove what={name} off={off} why={why} onClick={() => set(names.filter((one) => one !== name))} />
        </div>
      ))}
      <form
        className={s.add}
        onSubmit={(event) => {
          event.preventDefault();
          const name = text.trim();
          if (name === "" || off) return;
          if (!names.includes(name)) set([...names, name]);
          setText("");
        }}
      >
        <input
          className={s.input}
          aria-label={label}
          placeholder={placeholder}
          value={text}
          disabled={off}
          title={why === undefined ? label : `${label}. ${why}`}
          spellCheck={false}
          autoComplete="off"
          onChange={(event) => setText(event.target.value)}
        />
      </form>
    </>
  );
}

const KNOWN = ["raised", "uncaught", "userUnhandled"];

function Filters({ session, off, why }: RowProps & { session: DebugSession }) {
  const { debugger: t } = useWords();
  const told = session.available_filters.map(({ filter, label }) => ({
    filter: String(filter),
    label: typeof label === "string" ? label : String(filter),
  }));
  const all = told.length > 0 ? told : KNOWN.map((filter) => ({ filter, label: filter }));
  const { worker_id: worker, filters, types } = session;
  return (
    <>
      <fieldset className={s.filters} title={why}>
        <legend>{t.exceptions}</legend>
        {all.map(({ filter, label }) => (
          <label key={filter}>
            <input
              type="checkbox"
              data-filter={filter}
              checked={filters.includes(filter)}
              disabled={off}
              onChange={(event) =>
                void setFilters(
                  worker,
                  event.target.checked ? [...filters, filter] : filters.filter((one) => one !== filter),
                  types,
                )
              }
            />
            {t.filterNames[filter] ?? label}
          </label>
        ))}
      </fieldset>
      <Names
        names={types}
        testId="exception-type"
        label={t.addType}
        placeholder={t.typePlaceholder}
        set={(names) => void setFilters(worker, filters, names)}
        {...{ off, why }}
      />
    </>
  );
}
