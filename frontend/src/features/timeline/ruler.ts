// The ticks of the ruler: round local times, as many as fit.
const MS = 1e6;
const S = 1e9;
const M = 60 * S;
const H = 60 * M;
const STEPS = [
  ...[1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5],
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500].map((n) => n * MS),
  ...[1, 2, 5, 10, 20, 30].map((n) => n * S),
  ...[1, 2, 5, 10, 20, 30].map((n) => n * M),
  ...[1, 2, 3, 6, 12, 24, 48, 168, 336].map((n) => n * H),
];

export interface Tick {
  ns: number;
  label: string | null;
}

const two = (n: number, digits = 2) => String(n).padStart(digits, "0");

/** "14:32:08", with as many decimals as the step needs; a date where the step is days. */
export function tickLabel(ns: number, step: number): string {
  // In whole microseconds: a number of ns of this size is only exact to 256 of them.
  const us = Math.round(ns / 1e3);
  const date = new Date(Math.floor(us / 1e3));
  if (step >= 24 * H) return `${two(date.getDate())}.${two(date.getMonth() + 1)}.`;
  const minutes = `${two(date.getHours())}:${two(date.getMinutes())}`;
  if (step >= M) return minutes;
  const seconds = `${minutes}:${two(date.getSeconds())}`;
  if (step >= S) return seconds;
  const after = us % 1e3;
  // Below a millisecond whole times would all look the same: how far after the millisecond.
  return step < MS && after > 0 ? `+${after} µs` : `${seconds}.${two(Math.floor(us / 1e3) % 1e3, 3)}`;
}

/** Ticks in [from, to]; each second one has a label when the step is halved for finer lines. */
export function ticks(from: number, to: number, width: number, room = 86): { list: Tick[]; step: number } {
  const least = ((to - from) * room) / Math.max(1, width);
  const step = STEPS.find((one) => one >= least) ?? (STEPS.at(-1) as number);
  const minor = step / 2;
  // Local midnight, so that ticks of hours and days stand at whole hours of this zone.
  const zero = new Date(from / MS);
  zero.setHours(0, 0, 0, 0);
  const origin = zero.getTime() * MS;
  const list: Tick[] = [];
  for (let k = Math.ceil((from - origin) / minor); list.length < 400; k++) {
    const ns = origin + k * minor;
    if (ns > to) break;
    list.push({ ns, label: k % 2 === 0 ? tickLabel(ns, step) : null });
  }
  return { list, step };
}
