// How high the console is: this viewer's wish, kept in the browser. Without one it is a share of the page.
import { create } from "zustand";

const KEY = "raydebug.console.height";
/** In pixels: a line of it and the prompt; and as much for the source. */
export const LEAST = 96;
export const SOURCE_LEAST = 160;

function stored(): number | null {
  try {
    const value = Number(localStorage.getItem(KEY));
    return Number.isFinite(value) && value >= LEAST ? Math.min(value, 10_000) : null;
  } catch {
    return null;
  }
}

interface Height {
  wanted: number | null;
}

export const useHeight = create<Height>(() => ({ wanted: stored() }));

export const setHeight = (wanted: number | null): void => useHeight.setState({ wanted });

export function keepHeight(): void {
  const { wanted } = useHeight.getState();
  try {
    if (wanted === null) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, String(wanted));
  } catch {
    // forbidden: it lives as long as the page
  }
}

/** Of panes so high. */
export const mostOf = (panes: number): number => Math.max(LEAST, Math.round(panes) - SOURCE_LEAST);

export const within = (height: number, most: number): number => Math.round(Math.min(most, Math.max(LEAST, height)));

const STEP = 20;
const LARGE = 100;

/** What a key makes of a height; null: it is no key of the separator's. */
export function keyed(key: string, now: number, most: number): number | null {
  if (key === "ArrowUp") return within(now + STEP, most);
  if (key === "ArrowDown") return within(now - STEP, most);
  if (key === "PageUp") return within(now + LARGE, most);
  if (key === "PageDown") return within(now - LARGE, most);
  if (key === "Home") return LEAST;
  if (key === "End") return most;
  return null;
}
