import type { DebugSession } from "../../../api/types.gen";

export function Inspect(_: { session: DebugSession }) {
  return null;
}
