// Wheel and pointer on the canvas: scroll, zoom at the pointer, drag to move, shift-drag to mark, click to select.
import { create } from "zustand";
import type { Hit } from "./hit";
import { pickTask } from "./selection";
import type { Stage } from "./stage";
import { pan, reveal, select, setFollow, show, useTimeline, windowOf, zoom } from "./state";

interface Hover {
  hit: Hit | null;
  /** Of the window, CSS pixels. */
  x: number;
  y: number;
}

/** What the pointer is on; the tooltip shows it. */
export const useHover = create<Hover>(() => ({ hit: null, x: 0, y: 0 }));

export function leavePointer(stage: Stage): void {
  stage.hovered = null;
  if (useHover.getState().hit) useHover.setState({ hit: null });
  stage.invalidate();
}

const CLICK = 4;
const zoomOf = (delta: number) => Math.exp(Math.max(-1, Math.min(1, delta / 300)));

export function followPointer(stage: Stage, canvas: HTMLCanvasElement): () => void {
  let drag: { x: number; y: number; moved: boolean; mark: boolean } | null = null;

  const place = (event: MouseEvent) => {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };

  const wheel = (event: WheelEvent) => {
    event.preventDefault();
    const unit = event.deltaMode === 1 ? 20 : 1;
    const [dx, dy] = [event.deltaX * unit, event.deltaY * unit];
    if (event.ctrlKey || event.metaKey || event.shiftKey) {
      zoom(zoomOf((dy || dx) * (event.ctrlKey && Math.abs(dy) < 40 ? 4 : 1)), stage.timeAt(place(event).x));
    } else if (Math.abs(dx) > Math.abs(dy)) pan(dx / Math.max(1, stage.width));
    else stage.scrollTop += dy;
    hover(event);
  };

  const hover = (event: MouseEvent) => {
    const { x, y } = place(event);
    const hit = drag?.moved ? null : stage.hit(x, y);
    stage.hovered = hit;
    canvas.style.cursor = hit ? "pointer" : "default";
    if (hit || useHover.getState().hit) useHover.setState({ hit, x: event.clientX, y: event.clientY });
    stage.invalidate();
  };

  const down = (event: PointerEvent) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    drag = { ...place(event), moved: false, mark: event.shiftKey };
  };

  const move = (event: PointerEvent) => {
    if (!drag) {
      hover(event);
      return;
    }
    const { x, y } = place(event);
    if (!drag.moved && Math.hypot(x - drag.x, y - drag.y) < CLICK) return;
    if (!drag.moved) {
      drag.moved = true;
      hover(event);
      canvas.style.cursor = drag.mark ? "text" : "grabbing";
    }
    if (drag.mark) stage.range = { from: drag.x, to: x };
    else {
      if (x !== drag.x) pan((drag.x - x) / Math.max(1, stage.width));
      stage.scrollTop += drag.y - y;
      drag = { ...drag, x, y };
    }
    stage.invalidate();
  };

  const up = (event: PointerEvent) => {
    const done = drag;
    drag = null;
    const { range } = stage;
    stage.range = null;
    if (!done) return;
    if (range) {
      const times = [stage.timeAt(range.from), stage.timeAt(range.to)];
      show({ from: Math.min(...times), to: Math.max(...times) });
    } else if (!done.moved && event.type === "pointerup") click(place(event));
    stage.invalidate();
  };

  const click = ({ x, y }: { x: number; y: number }) => {
    const placed = stage.rowAt(y);
    if (placed?.row.kind === "lane") useTimeline.setState({ lane: placed.row.key });
    const hit = stage.hit(x, y);
    if (hit) void pickTask(hit);
    else select(null);
  };

  const double = (event: MouseEvent) => {
    const { x, y } = place(event);
    const hit = stage.hit(x, y);
    if (hit?.kind === "bin") {
      const { from, to } = windowOf(useTimeline.getState());
      const middle = (hit.from_ns + hit.to_ns) / 2;
      show({ from: middle - (to - from) / 16, to: middle + (to - from) / 16 });
    } else if (hit) {
      const s = useTimeline.getState();
      if (s.place) {
        const long = Math.max(s.place.to_ns - s.place.from_ns, 1e6);
        show({ from: s.place.from_ns - long * 0.1, to: s.place.to_ns + long * 0.1 });
        reveal(s.place);
      }
    } else setFollow(true);
  };

  const leave = () => leavePointer(stage);

  canvas.addEventListener("wheel", wheel, { passive: false });
  canvas.addEventListener("pointerdown", down);
  canvas.addEventListener("pointermove", move);
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
  canvas.addEventListener("pointerleave", leave);
  canvas.addEventListener("dblclick", double);
  return () => {
    canvas.removeEventListener("wheel", wheel);
    canvas.removeEventListener("pointerdown", down);
    canvas.removeEventListener("pointermove", move);
    canvas.removeEventListener("pointerup", up);
    canvas.removeEventListener("pointercancel", up);
    canvas.removeEventListener("pointerleave", leave);
    canvas.removeEventListener("dblclick", double);
  };
}
