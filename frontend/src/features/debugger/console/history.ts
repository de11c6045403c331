// What was typed before, by session, in this browser.
const PREFIX = "raydebug.console.";
const INDEX = `${PREFIX}sessions`;
const MOST_LINES = 200;
const MOST_LENGTH = 4000;
const MOST_SESSIONS = 20;

type Store = Pick<Storage, "getItem" | "setItem" | "removeItem">;

function strings(text: string | null): string[] {
  try {
    const value: unknown = JSON.parse(text ?? "[]");
    return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
  } catch {
    return [];
  }
}

export function readHistory(store: Store, worker: string): string[] {
  try {
    return strings(store.getItem(PREFIX + worker));
  } catch {
    return []; // a browser may forbid it
  }
}

/** The history with this line at its end, once; histories of sessions long gone are forgotten. */
export function addToHistory(store: Store, worker: string, line: string): string[] {
  const lines = [...readHistory(store, worker).filter((one) => one !== line), line.slice(0, MOST_LENGTH)].slice(
    -MOST_LINES,
  );
  try {
    const sessions = [...strings(store.getItem(INDEX)).filter((one) => one !== worker), worker];
    for (const old of sessions.splice(0, Math.max(0, sessions.length - MOST_SESSIONS))) store.removeItem(PREFIX + old);
    store.setItem(INDEX, JSON.stringify(sessions));
    store.setItem(PREFIX + worker, JSON.stringify(lines));
  } catch {
    // full, or forbidden: the history lives as long as the page
  }
  return lines;
}

/** Walks through the history; what was being typed is its newest line. */
export class Walk {
  private at: number | null = null;
  private draft = "";

  constructor(private lines: readonly string[]) {}

  older(current: string): string | null {
    if (this.at === null) this.draft = current;
    const next = (this.at ?? this.lines.length) - 1;
    const line = this.lines[next];
    if (line === undefined) return null;
    this.at = next;
    return line;
  }

  newer(): string | null {
    if (this.at === null) return null;
    const next = this.at + 1;
    const line = this.lines[next];
    this.at = line === undefined ? null : next;
    return line ?? this.draft;
  }

  reset(lines: readonly string[] = this.lines): void {
    this.lines = lines;
    this.at = null;
  }
}
