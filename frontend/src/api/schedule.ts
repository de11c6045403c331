/** When to try again: the first time within 0.3 s, then doubling to at most 5 s, with jitter so that viewers spread. */
export function retryDelay(attempt: number, random: () => number = Math.random): number {
  const ceiling = Math.min(5000, 300 * 2 ** attempt);
  return ceiling * (0.5 + random() / 2);
}

export const STALE_AFTER_MS = 3000;
export const PING_EVERY_MS = 5000;
/** A socket that has said nothing for this long after a ping is taken for dead. */
export const DEAD_AFTER_MS = 10_000;
