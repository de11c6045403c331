// Small shared widgets. What they show comes in; they know no view.
import { type ButtonHTMLAttributes, type ReactNode, useEffect, useRef, useState } from "react";
import { useSince } from "../api/clock";
import { useWords } from "../i18n";
import { copyText } from "./copy";
import { formatDuration } from "./format";
import { Icon } from "./Glyph";
import type { Tone } from "./glyphs";
import ui from "./ui.module.css";

export const cx = (...names: (string | false | null | undefined)[]): string => names.filter(Boolean).join(" ");

/** Time since, ticking by the hub's clock. */
export function Since({ ns, className }: { ns: number | null; className?: string }) {
  const { units } = useWords();
  const ms = useSince(ns);
  return ms === null ? null : <span className={cx(ui.num, ui.nowrap, className)}>{formatDuration(ms, units)}</span>;
}

type ButtonProps = ButtonHTMLAttributes<HTMLButtonElement> & { kind?: "primary" | "bare"; small?: boolean };

export function Button({ kind, small, className, ...rest }: ButtonProps) {
  const names = cx(ui.button, kind && ui[kind], small && ui.small, className);
  return <button type="button" {...rest} className={names} />;
}

export function Chip({ tone, title, children }: { tone?: Tone; title?: string; children: ReactNode }) {
  return (
    <span className={cx(ui.chip, tone && ui.tone)} data-tone={tone} title={title}>
      {children}
    </span>
  );
}

/** Text that may be long: cut with an ellipsis, whole in the title. */
export function Cut({
  text,
  title = text,
  mono,
  className,
}: {
  text: string;
  title?: string;
  mono?: boolean;
  className?: string;
}) {
  return (
    <span className={cx(ui.cut, mono && ui.mono, className)} title={title}>
      {text}
    </span>
  );
}

export function CopyButton({ text, what }: { text: string; what: string }) {
  const words = useWords();
  const [done, setDone] = useState(false);
  const timer = useRef<number | undefined>(undefined);
  useEffect(() => () => window.clearTimeout(timer.current), []);
  const label = done ? words.app.copied : words.app.copyWhat(what);
  return (
    <button
      type="button"
      className={ui.copy}
      data-done={done || undefined}
      aria-label={label}
      title={label}
      onClick={async () => {
        if (!(await copyText(text))) return;
        setDone(true);
        window.clearTimeout(timer.current);
        timer.current = window.setTimeout(() => setDone(false), 1500);
      }}
    >
      <Icon name={done ? "check" : "copy"} size={13} />
    </button>
  );
}

export function CopyCommand({ command }: { command: string }) {
  return (
    <span className={ui.command}>
      <code className={ui.cut}>{command}</code>
      <CopyButton text={command} what={command} />
    </span>
  );
}

export function EmptyState({ title, body, children }: { title: string; body?: string; children?: ReactNode }) {
  return (
    <div className={ui.empty}>
      <h2>{title}</h2>
      {body ? <p>{body}</p> : null}
      {children}
    </div>
  );
}

export function Bone({ width, height }: { width: number | string; height: number }) {
  return <div className={ui.bone} style={{ width, height }} />;
}

/** True after a delay: what is fast shows no skeleton. */
export function useAfter(ms: number): boolean {
  const [over, setOver] = useState(false);
  useEffect(() => {
    const timer = window.setTimeout(() => setOver(true), ms);
    return () => window.clearTimeout(timer);
  }, [ms]);
  return over;
}
