// The keys of the timeline.
import { useEffect, useRef } from "react";
import { useCluster } from "../../api/stores";
import type { Row } from "./lanes";
import { leavePointer } from "./pointer";
import { step, toChild, toParent } from "./selection";
import type { Stage } from "./stage";
import { fit, pan, select, setFold, show, useTimeline, windowOf, zoom } from "./state";

const OWN_KEYS = "input, textarea, select, [contenteditable], [role=menu], [role=dialog]";

/** To the beginning of the next or previous step, the window as wide as it is. */
function toStep(by: 1 | -1): void {
  const { jobId } = useTimeline.getState();
  const { from, to } = windowOf(useTimeline.getState());
  const starts = [...useCluster.getState().rows.steps.values()]
    .filter((one) => one.job_id === jobId)
    .map((one) => one.start_ns)
    .sort((a, b) => a - b);
  // A step that was come to stands a little right of the edge.
  const margin = (to - from) * 0.05;
  const at = from + margin;
  const next =
    by > 0 ? starts.find((start) => start > at + margin / 10) : starts.findLast((start) => start < at - margin / 10);
  if (next !== undefined) show({ from: next - margin, to: next - margin + (to - from) });
}

function toLane(stage: Stage, by: 1 | -1): void {
  const rows = stage.layout.rows
    .map(({ row }) => row)
    .filter((row): row is Row & { kind: "lane" } => row.kind === "lane");
  const { lane } = useTimeline.getState();
  const at = rows.findIndex((row) => row.key === lane);
  const next = at < 0 ? rows[by > 0 ? 0 : rows.length - 1] : rows[at + by];
  if (!next) return;
  useTimeline.setState({ lane: next.key });
  stage.scrollTo(next.key);
}

function fold(stage: Stage, open: boolean): boolean {
  const { lane } = useTimeline.getState();
  const row = stage.layout.rows.find((one) => one.row.key === lane)?.row;
  if (row?.kind !== "lane" || row.fold === null || (row.fold === "open") === open) return false;
  setFold(row.key, open);
  return true;
}

export function pressed(stage: Stage, key: string): boolean {
  switch (key) {
    case "w":
      zoom(0.7);
      return true;
    case "s":
      zoom(1 / 0.7);
      return true;
    case "a":
      pan(-0.15);
      return true;
    case "d":
      pan(0.15);
      return true;
    case "f":
      fit();
      return true;
    case "[":
      toStep(-1);
      return true;
    case "]":
      toStep(1);
      return true;
    case "ArrowUp":
      toLane(stage, -1);
      return true;
    case "ArrowDown":
      toLane(stage, 1);
      return true;
    case "ArrowLeft":
      return fold(stage, false);
    case "ArrowRight":
      return fold(stage, true);
    case "p":
      void toParent();
      return true;
    case "c":
      void toChild();
      return true;
    case ".":
      void step(stage.feed.held, 1);
      return true;
    case ",":
      void step(stage.feed.held, -1);
      return true;
    case "Escape":
      if (useTimeline.getState().selected) select(null);
      return true;
    default:
      return false;
  }
}

export function useTimelineKeys(stage: Stage | null): void {
  const leader = useRef(0);
  useEffect(() => {
    if (!stage) return;
    const listen = (event: KeyboardEvent) => {
      const target = event.target instanceof Element ? event.target : document.body;
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || target.closest(OWN_KEYS)) return;
      // `g d` and the like go to another view.
      const led = Date.now() - leader.current < 1000;
      leader.current = event.key === "g" ? Date.now() : 0;
      if (led || !pressed(stage, event.key)) return;
      event.preventDefault();
      leavePointer(stage); // what lies under it may be another
    };
    window.addEventListener("keydown", listen);
    return () => window.removeEventListener("keydown", listen);
  }, [stage]);
}
