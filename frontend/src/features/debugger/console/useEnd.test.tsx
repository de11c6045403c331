import { act, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { useEnd } from "./useEnd";

// jsdom has no layout: the height is said, and who watches it is told.
const VIEW = 100;
let height = 0;
let watching: (() => void)[] = [];
const grow = (to: number) => {
  height = to;
  act(() => watching.forEach((tell) => void tell()));
};

function Box({ runs, rows }: { runs: number; rows: number }) {
  const { box, inner, onScroll } = useEnd(runs, rows);
  const laidOut = (element: HTMLDivElement | null) => {
    box.current = element;
    if (element === null || element.dataset.laid) return;
    element.dataset.laid = "yes";
    let top = 0;
    Object.defineProperties(element, {
      scrollHeight: { get: () => height },
      clientHeight: { get: () => VIEW },
      scrollTop: {
        get: () => top,
        set: (to: number) => {
          top = Math.max(0, Math.min(to, height - VIEW));
        },
      },
    });
  };
  return (
    <div ref={laidOut} role="log" onScroll={onScroll}>
      <div ref={inner} />
    </div>
  );
}

const top = () => screen.getByRole("log").scrollTop;
const scrollTo = (to: number) => {
  screen.getByRole("log").scrollTop = to;
  fireEvent.scroll(screen.getByRole("log"));
};

beforeEach(() => {
  watching = [];
  vi.stubGlobal(
    "ResizeObserver",
    class {
      constructor(tell: () => void) {
        watching.push(tell);
      }
      observe() {}
      disconnect() {}
    },
  );
});
afterEach(() => vi.unstubAllGlobals());

it("is at the end of what gets its height only when it is in view", () => {
  height = 300;
  render(<Box runs={0} rows={1} />);
  expect(top()).toBe(200);
  // The browser tells of the scrolling when the end has moved on already.
  height = 336;
  fireEvent.scroll(screen.getByRole("log"));
  grow(336);
  expect(top()).toBe(236);
});

it("stays where one has scrolled up to, until one is back at the end", () => {
  height = 300;
  const { rerender } = render(<Box runs={0} rows={1} />);
  scrollTo(50);
  height = 400;
  rerender(<Box runs={0} rows={2} />);
  grow(420);
  expect(top()).toBe(50);
  scrollTo(310);
  grow(500);
  expect(top()).toBe(400);
});

it("goes to the end, and on to the answer, when one runs something", () => {
  height = 300;
  const { rerender } = render(<Box runs={0} rows={1} />);
  scrollTo(50);
  rerender(<Box runs={1} rows={1} />);
  expect(top()).toBe(200);
  height = 380;
  rerender(<Box runs={1} rows={2} />);
  expect(top()).toBe(280);
});
