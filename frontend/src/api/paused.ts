import type { PausedSite } from "./types.gen";

/** Why all who stand there were stopped, in DAP's word; null where they differ, or nobody knows more than its kind. */
export function reasonOfSite(site: PausedSite): string | null {
  const [first, ...others] = new Set(site.members.map((member) => member.reason));
  return site.kind === "breakpoint" && others.length === 0 ? (first ?? null) : null;
}
