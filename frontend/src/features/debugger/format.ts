// How values look: this viewer's choice, kept in the browser.
import { create } from "zustand";
import type { ValueFormat } from "../../api/types.gen";
import { edited } from "./state";

const KEY = "raydebug.hex";

function stored(): boolean {
  try {
    return localStorage.getItem(KEY) === "1";
  } catch {
    return false;
  }
}

export const useFormat = create<{ hex: boolean }>(() => ({ hex: stored() }));

/** What is shown is asked for anew. */
export function setHex(hex: boolean): void {
  useFormat.setState({ hex });
  try {
    if (hex) localStorage.setItem(KEY, "1");
    else localStorage.removeItem(KEY);
  } catch {
    // forbidden: it lives as long as the page
  }
  edited();
}

/** For a question whose answer has values in it. */
export const withFormat = <T extends object>(args: T): T & { format?: ValueFormat } =>
  useFormat.getState().hex ? { ...args, format: { hex: true } } : args;
