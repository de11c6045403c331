import { create } from "zustand";

export type Theme = "light" | "dark" | "system";

const KEY = "raydebug.theme";
const DARK = "(prefers-color-scheme: dark)";

function stored(): Theme {
  try {
    const value = window.localStorage.getItem(KEY);
    return value === "light" || value === "dark" ? value : "system";
  } catch {
    return "system";
  }
}

export const useTheme = create<{ theme: Theme }>(() => ({ theme: stored() }));

export function applyTheme(): void {
  const { theme } = useTheme.getState();
  const dark = theme === "dark" || (theme === "system" && window.matchMedia(DARK).matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
}

export function setTheme(theme: Theme): void {
  useTheme.setState({ theme });
  try {
    if (theme === "system") window.localStorage.removeItem(KEY);
    else window.localStorage.setItem(KEY, theme);
  } catch {
    // not kept then
  }
  applyTheme();
}

export function followSystemTheme(): void {
  window.matchMedia(DARK).addEventListener("change", applyTheme);
}
