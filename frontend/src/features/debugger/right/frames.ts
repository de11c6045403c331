// A stack as it is read: Ray's own frames folded together.
import type { Frame } from "../../../api/types.gen";

export type StackRow =
  | { kind: "frame"; frame: Frame; index: number }
  | { kind: "folded"; count: number; key: number; open: boolean };

/**
 * Runs of subtle frames become one row, unless they are unfolded; the frame that is looked at is always seen. `total`:
 * of the whole stack, of which these are the innermost.
 */
export function stackRows(
  frames: readonly Frame[],
  index: number,
  unfolded: ReadonlySet<number>,
  total = frames.length,
): StackRow[] {
  const rows: StackRow[] = [];
  for (let i = 0; i < frames.length; ) {
    const frame = frames[i] as Frame;
    if (!frame.subtle) {
      rows.push({ kind: "frame", frame, index: i });
      i++;
      continue;
    }
    let end = i;
    while (frames[end]?.subtle) end++;
    const key = total - end; // counted from the outermost: stays the same while one steps
    const open = unfolded.has(key) || (index >= i && index < end);
    rows.push({ kind: "folded", count: end - i, key, open });
    if (open) for (; i < end; i++) rows.push({ kind: "frame", frame: frames[i] as Frame, index: i });
    i = end;
  }
  return rows;
}
