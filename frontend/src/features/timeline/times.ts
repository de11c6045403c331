// Times as people read them, as exact as the stretch they belong to.
const two = (n: number, digits = 2) => String(n).padStart(digits, "0");

/** "14:32:08.204", with the decimals that a stretch of this length needs. */
export function clockTime(ns: number, around: number): string {
  const date = new Date(Math.floor(ns / 1e6));
  const text = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  if (around >= 600e9) return text;
  const rest = Math.floor(ns / 1e3) % 1e6;
  if (around >= 10e9) return `${text}.${Math.floor(rest / 1e5)}`;
  return around >= 1e7 ? `${text}.${two(Math.floor(rest / 1e3), 3)}` : `${text}.${two(rest, 6)}`;
}

/** "61.2 s", "4 m 35 s", "12.4 ms", "830 µs" */
export function duration(ns: number): string {
  if (ns < 1e6) return `${Math.round(ns / 1e3)} µs`;
  if (ns < 1e9) return `${three(ns / 1e6)} ms`;
  if (ns < 100e9) return `${three(ns / 1e9)} s`;
  const s = Math.round(ns / 1e9);
  if (s < 3600) return `${Math.floor(s / 60)} m ${two(s % 60)} s`;
  if (s < 86_400) return `${Math.floor(s / 3600)} h ${two(Math.floor((s % 3600) / 60))} m`;
  return `${Math.floor(s / 86_400)} d ${Math.floor((s % 86_400) / 3600)} h`;
}

const three = (x: number) => (x < 10 ? x.toFixed(2) : x < 100 ? x.toFixed(1) : x.toFixed(0));
