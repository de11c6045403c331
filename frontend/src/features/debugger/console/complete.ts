// Completion at the caret.
import type { CompletionItem } from "../../../api/debug";

/** What is asked for: the caret's line up to its end, and the column, from 1. */
export function question(value: string, caret: number): { text: string; column: number; lineStart: number } {
  const lineStart = value.lastIndexOf("\n", caret - 1) + 1;
  const lineEnd = value.indexOf("\n", caret);
  return { text: value.slice(lineStart, lineEnd < 0 ? undefined : lineEnd), column: caret - lineStart + 1, lineStart };
}

/** The text with an item put in, and where the caret comes to stand. */
export function withItem(value: string, caret: number, item: CompletionItem): { value: string; caret: number } {
  const { lineStart } = question(value, caret);
  const typed = /[\p{L}\p{N}_]*$/u.exec(value.slice(lineStart, caret))?.[0].length ?? 0;
  const told = item.start !== undefined && item.start <= caret - lineStart;
  const from = told ? lineStart + (item.start as number) : caret - typed;
  const to = told && item.length !== undefined ? Math.min(value.length, Math.max(caret, from + item.length)) : caret;
  const text = item.text ?? item.label;
  return { value: value.slice(0, from) + text + value.slice(to), caret: from + text.length };
}
