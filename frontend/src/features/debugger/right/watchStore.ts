// Watched expressions: this viewer's own, kept in the browser; their values belong to one stop and frame.
import { create } from "zustand";
import { askDebug, reasonOf } from "../../../api/debug";
import type { Evaluated } from "../../../api/types.gen";
import { withFormat } from "../format";

const KEY = "raydebug.watches";
const MOST = 50;
const LONGEST = 2000;

export interface WatchValue {
  /** The stop and frame that it was evaluated in. */
  of: string;
  value: Evaluated | null;
  error: string | null;
  busy: boolean;
}

interface Watches {
  expressions: readonly string[];
  values: ReadonlyMap<string, WatchValue>;
}

function stored(): string[] {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(value) ? value.filter((one) => typeof one === "string").slice(0, MOST) : [];
  } catch {
    return [];
  }
}

export const useWatches = create<Watches>(() => ({ expressions: stored(), values: new Map() }));

function put(expressions: readonly string[]): void {
  useWatches.setState({ expressions });
  try {
    localStorage.setItem(KEY, JSON.stringify(expressions));
  } catch {
    // forbidden: they live as long as the page
  }
}

export function addWatch(expression: string): void {
  const text = expression.trim();
  const { expressions } = useWatches.getState();
  if (text === "" || text.length > LONGEST || expressions.includes(text) || expressions.length >= MOST) return;
  put([...expressions, text]);
}

export const removeWatch = (expression: string): void =>
  put(useWatches.getState().expressions.filter((one) => one !== expression));

const setValue = (expression: string, value: WatchValue): void =>
  useWatches.setState(({ values }) => ({ values: new Map(values).set(expression, value) }));

/** Evaluates in a frame; an answer for what is no longer wanted is thrown away. The old value stays until then. */
export async function evaluateWatch(worker: string, expression: string, frameId: number, of: string): Promise<void> {
  const old = useWatches.getState().values.get(expression);
  if (old?.of === of) return;
  setValue(expression, { value: old?.value ?? null, error: null, of, busy: true });
  const wanted = () => useWatches.getState().values.get(expression)?.of === of;
  try {
    const value = await askDebug(worker, "evaluate", withFormat({ expression, frameId, context: "watch" as const }));
    if (wanted()) setValue(expression, { of, value, error: null, busy: false });
  } catch (error) {
    const reason = reasonOf(error);
    // Without the stream nothing is known: asked again when it is back.
    if (wanted()) setValue(expression, { of: reason === null ? "" : of, value: null, error: reason, busy: false });
  }
}
