// Shapes on a grid of 10: each state has a silhouette of its own, so that colour is never the only sign.
export const GLYPHS = {
  running: "M2.2 1.2 9 5 2.2 8.8z",
  idle: "M5 1a4 4 0 1 0 0 8 4 4 0 0 0 0-8zm0 1.5a2.5 2.5 0 1 1 0 5 2.5 2.5 0 0 1 0-5z",
  waiting: "M1.8.8h6.4v1.4L6 5l2.2 2.8v1.4H1.8V7.8L4 5 1.8 2.2z",
  paused: "M1.8 1h2.4v8H1.8zM5.8 1h2.4v8H5.8z",
  failed: "M1 2.4 2.4 1 5 3.6 7.6 1 9 2.4 6.4 5 9 7.6 7.6 9 5 6.4 2.4 9 1 7.6 3.6 5z",
  dead: "M5 .6a4.4 4.4 0 1 0 0 8.8A4.4 4.4 0 0 0 5 .6zM2 5a3 3 0 0 1 4.6-2.5L2.5 6.6A3 3 0 0 1 2 5zm6 0a3 3 0 0 1-4.6 2.5l4.1-4.1c.3.5.5 1 .5 1.6z",
  pending: "M.6 4.1h2v2h-2zM4 4.1h2v2H4zM7.4 4.1h2v2h-2z",
  unknown:
    "M2.6 3.6C2.6 2 3.6 1 5.1 1s2.5.9 2.5 2.2c0 1-.5 1.5-1.3 2-.5.4-.6.6-.6 1.1H4.3c0-1 .3-1.5 1-2 .6-.4.8-.6.8-1.1s-.4-.8-1-.8c-.7 0-1.1.5-1.1 1.2zM4.2 7.2h1.6V9H4.2z",
  slow: "M5 .8 9.6 9H.4zM4.4 3.8v2.6h1.2V3.8zm0 3.2v1.1h1.2V7z",
} as const;

export type Tone = keyof typeof GLYPHS;

/** Line icons on a grid of 16 (20 for the rail). */
export const ICONS = {
  chevron: "m4.5 6.5 3.5 3.5 3.5-3.5",
  external: "M6.5 3.5h-3v9h9v-3M9 3h4v4M13 3 7.5 8.5",
  shield: "M8 2.2 13 4v4c0 3-2.2 5-5 6-2.8-1-5-3-5-6V4z",
  sun: "M8 5.4a2.6 2.6 0 1 0 0 5.2 2.6 2.6 0 0 0 0-5.2M8 2v1.4M8 12.6V14M2 8h1.4M12.6 8H14M3.8 3.8l1 1M11.2 11.2l1 1M3.8 12.2l1-1M11.2 4.8l1-1",
  moon: "M13 9.6A5.5 5.5 0 1 1 6.4 3 4.4 4.4 0 0 0 13 9.6z",
  close: "m4.5 4.5 7 7M11.5 4.5l-7 7",
  pause: "M6 4v8M10 4v8",
  play: "M5.5 3.8v8.4L12 8z",
  copy: "M6 5.5h6.5V13H6zM3.5 10.5v-8H10",
  check: "m3.5 8.5 3 3 6-7",
  right: "M2 8h11M9.5 4.5 13 8l-3.5 3.5",
  help: "M6 6.2a2 2 0 1 1 2.8 1.9c-.6.3-.8.7-.8 1.4M8 11.8h.01M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2",
} as const;

export type IconName = keyof typeof ICONS;
