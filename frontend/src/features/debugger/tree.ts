// A tree of values as the rows that are seen. Children come by pages, asked for when their parent is unfolded.
import type { Variable } from "../../api/types.gen";

/** So many children at a time. */
export const PAGE = 100;
/** After a step as many children as were seen before come in one page, up to so many. */
const MOST_AT_ONCE = 1000;

/**
 * The children of one value, by the value's path. `of`: which value of which stop they belong to; those of an earlier
 * one stay on the screen until the new ones are there.
 */
export interface Page {
  of: string;
  variables: readonly Variable[];
  total: number;
  busy: boolean;
  error: string | null;
}

export type Pages = ReadonlyMap<string, Page>;

/**
 * Where a tree begins: `base` names it; `epoch` is the stop that its references are valid in; its first rows are the
 * children of `reference`, or `variables`.
 */
export interface Root {
  base: string;
  epoch: string;
  reference?: number;
  variables?: readonly Variable[];
}

export type Row =
  | { kind: "value"; path: string; parent: string; depth: number; variable: Variable; open: boolean; old: boolean }
  | { kind: "more"; path: string; parent: string; depth: number; left: number; busy: boolean; reference: number }
  | { kind: "note"; path: string; parent: string; depth: number; note: "loading" | "empty" | "error"; text: string };

/** A page that isn't there, or is of the past. */
export interface Want {
  path: string;
  reference: number;
  of: string;
  count: number;
}

const SEPARATOR = "\u0000";

export const ofKey = (epoch: string, reference: number): string => `${epoch}#${reference}`;

/** Names needn't be unique (a set's members have none of their own): the later ones are numbered. */
export function childPaths(parent: string, variables: readonly Variable[]): string[] {
  const seen = new Map<string, number>();
  return variables.map(({ name }) => {
    const count = seen.get(name) ?? 0;
    seen.set(name, count + 1);
    return `${parent}${SEPARATOR}${name}${count > 0 ? `${SEPARATOR}${count}` : ""}`;
  });
}

export const hasChildren = (variable: Variable): boolean => (variable.variablesReference ?? 0) > 0;

export function flatten(root: Root, pages: Pages, open: ReadonlySet<string>): { rows: Row[]; wanted: Want[] } {
  const rows: Row[] = [];
  const wanted: Want[] = [];

  const values = (variables: readonly Variable[], parent: string, depth: number, old: boolean) => {
    const paths = childPaths(parent, variables);
    variables.forEach((variable, i) => {
      const path = paths[i] as string;
      const unfolded = hasChildren(variable) && open.has(path);
      rows.push({ kind: "value", path, parent, depth, variable, open: unfolded, old });
      if (unfolded) children(path, variable.variablesReference as number, depth + 1, old);
    });
  };

  /** `old`: the parent itself is of the past, so its reference leads nowhere. */
  const children = (parent: string, reference: number, depth: number, old: boolean) => {
    const page = pages.get(parent);
    const of = ofKey(root.epoch, reference);
    const current = page?.of === of;
    if (!current && !old)
      wanted.push({ path: parent, reference, of, count: Math.min(MOST_AT_ONCE, Math.max(PAGE, shown(page))) });
    if (!page || (page.variables.length === 0 && !current)) {
      rows.push({ kind: "note", path: `${parent}${SEPARATOR}?`, parent, depth, note: "loading", text: "" });
      return;
    }
    values(page.variables, parent, depth, old || !current);
    if (page.error !== null && current)
      rows.push({
        kind: "note",
        path: `${parent}${SEPARATOR}!`,
        parent,
        depth,
        note: "error",
        text: page.error,
      });
    else if (page.variables.length === 0 && !page.busy)
      rows.push({ kind: "note", path: `${parent}${SEPARATOR}0`, parent, depth, note: "empty", text: "" });
    else if (page.variables.length < page.total)
      rows.push({
        kind: "more",
        path: `${parent}${SEPARATOR}+`,
        parent,
        depth,
        left: page.total - page.variables.length,
        busy: page.busy || !current,
        reference,
      });
  };

  if (root.variables) values(root.variables, root.base, 0, false);
  else if (root.reference !== undefined) children(root.base, root.reference, 0, false);
  return { rows, wanted };
}

const shown = (page: Page | undefined): number => page?.variables.length ?? 0;

/** What an answer makes of the page: the first of a value replaces what was there, later ones go at its end. */
export function withAnswer(
  page: Page | undefined,
  of: string,
  answer: { variables: readonly Variable[]; total: number; start: number },
): Page {
  const before = page?.of === of ? page.variables.slice(0, answer.start) : [];
  return {
    of,
    variables: [...before, ...answer.variables],
    total: Math.max(answer.total, before.length + answer.variables.length),
    busy: false,
    error: null,
  };
}
