// Breakpoints of a file, as they are asked for: the hub takes all of a file at once.
import type { Breakpoint, SourceBreakpoint } from "../../api/types.gen";

export type Shape = "dot" | "conditional" | "log";

export const shapeOf = (one: SourceBreakpoint): Shape =>
  one.logMessage ? "log" : one.condition || one.hitCondition ? "conditional" : "dot";

/** Whether it can't hit (yet), and why; one that is off isn't meant to. */
export const isHollow = (one: Breakpoint): boolean => !one.verified && one.enabled;
export const problemOf = (one: Breakpoint): string | null => (isHollow(one) ? one.message : null);

export const ofFile = (all: readonly Breakpoint[], path: string): Breakpoint[] =>
  all.filter((one) => one.path === path).sort((a, b) => a.line - b.line);

export const asked = ({ line, condition, hitCondition, logMessage, enabled }: Breakpoint): SourceBreakpoint => ({
  line,
  condition,
  hitCondition,
  logMessage,
  enabled,
});

/** The file's breakpoints with this one: it replaces that of its line; `null` takes the line's out. */
export function withBreakpoint(
  all: readonly Breakpoint[],
  path: string,
  line: number,
  one: Omit<SourceBreakpoint, "line"> | null,
): SourceBreakpoint[] {
  const others = ofFile(all, path)
    .filter((other) => other.line !== line)
    .map(asked);
  return one === null ? others : [...others, { ...one, line }].sort((a, b) => a.line - b.line);
}

/** The line to set one on when this line can't hit: the next that can, within a few lines. */
export function nearestLine(breakable: readonly number[], line: number): number {
  if (breakable.length === 0 || breakable.includes(line)) return line;
  const next = breakable.find((other) => other > line);
  return next !== undefined && next - line <= 10 ? next : line;
}

/** What its row says below the place. */
export const detailOf = ({
  condition,
  hitCondition,
  logMessage,
}: SourceBreakpoint): { log?: string; when?: string; hits?: string } => ({
  ...(logMessage ? { log: logMessage } : {}),
  ...(condition ? { when: condition } : {}),
  ...(hitCondition ? { hits: hitCondition } : {}),
});

export const isHitCondition = (text: string): boolean => text === "" || /^(%|==|>=|<=|>|<)?\s*\d+$/.test(text.trim());
