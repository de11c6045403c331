import type { Shape } from "../breakpoints";

/** The shape says the kind, hollow that it can't hit (yet), pale that it is off. The same in the gutter, see marks.ts. */
export const PATHS: Record<Shape, string> = {
  dot: "M6 1a5 5 0 1 0 0 10A5 5 0 0 0 6 1z",
  conditional: "M6 1a5 5 0 1 0 0 10A5 5 0 0 0 6 1zM3.4 4.1h5.2v1.3H3.4zM3.4 6.6h5.2v1.3H3.4z",
  log: "M6 .3 11.7 6 6 11.7.3 6z",
};

/** Hollow ones are a ring alone: bars in it would fill it. */
export const outlineOf = (shape: Shape): string => (shape === "conditional" ? PATHS.dot : PATHS[shape]);

export const colourOf = (shape: Shape): string => (shape === "log" ? "var(--accent)" : "var(--pause)");

export function BreakpointShape({ shape, hollow, off }: { shape: Shape; hollow: boolean; off: boolean }) {
  const colour = colourOf(shape);
  return (
    <svg
      width="12"
      height="12"
      viewBox="0 0 12 12"
      aria-hidden="true"
      style={{ opacity: off ? 0.45 : 1, flex: "none" }}
    >
      <path
        d={hollow ? outlineOf(shape) : PATHS[shape]}
        fillRule="evenodd"
        fill={hollow ? "none" : colour}
        stroke={hollow ? colour : "none"}
        strokeWidth="1.4"
        transform={hollow ? "translate(.8 .8) scale(.87)" : undefined}
      />
    </svg>
  );
}
