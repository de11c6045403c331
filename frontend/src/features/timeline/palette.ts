// The colours of the canvas: the tokens of the theme, as CSS text and as pixels.
import { names } from "./marks";
import { PHASES, phaseOf, phaseToken } from "./phases";

export interface Colour {
  css: string;
  r: number;
  g: number;
  b: number;
}

export interface NameStyle {
  fill: Colour;
  /** The fill at 30 %, mixed with the surface, so that what lies on top of each other gets no darker. */
  pale: Colour;
  ink: string;
}

export interface Palette {
  surface: Colour;
  surface2: Colour;
  sunken: Colour;
  line: Colour;
  line2: Colour;
  fg: string;
  fg2: string;
  fg3: string;
  accent: string;
  ok: string;
  pause: Colour;
  pause2: Colour;
  pauseInk: string;
  fail: Colour;
  failInk: string;
  failText: string;
  ink: string;
  mono: string;
  font: string;
  nameStyle(name: number): NameStyle;
}

function colour(text: string): Colour {
  const short = /^#([0-9a-f])([0-9a-f])([0-9a-f])$/i.exec(text);
  const hex = short ? `${short[1]}${short[1]}${short[2]}${short[2]}${short[3]}${short[3]}` : text.slice(1);
  const n = Number.parseInt(hex, 16) || 0;
  return { css: text, r: (n >> 16) & 255, g: (n >> 8) & 255, b: n & 255 };
}

export function mix(over: Colour, under: Colour, share: number): Colour {
  const part = (a: number, b: number) => Math.round(a * share + b * (1 - share));
  const [r, g, b] = [part(over.r, under.r), part(over.g, under.g), part(over.b, under.b)];
  return { r, g, b, css: `rgb(${r} ${g} ${b})` };
}

/** As it lies in an ImageData, seen as 32-bit words of a little-endian machine. */
export const pixel = ({ r, g, b }: Colour): number => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;

const light = ({ r, g, b }: Colour) => (0.299 * r + 0.587 * g + 0.114 * b) / 255;

/** Reads a token: `getComputedStyle(root).getPropertyValue`. */
export function makePalette(token: (name: string) => string): Palette {
  const read = (name: string) => token(name).trim();
  const of = (name: string) => colour(read(name));
  const surface = of("--surface");
  const ink = read("--p-ink");
  const phases = new Map(
    PHASES.map((phase): [string, NameStyle] => {
      const fill = of(phaseToken(phase));
      return [phase, { fill, pale: mix(fill, surface, 0.3), ink: light(fill) < 0.45 ? "#fff" : ink }];
    }),
  );
  const styles: NameStyle[] = [];
  return {
    surface,
    surface2: of("--surface-2"),
    sunken: of("--sunken"),
    line: of("--line"),
    line2: of("--line-2"),
    fg: read("--fg"),
    fg2: read("--fg-2"),
    fg3: read("--fg-3"),
    accent: read("--accent"),
    ok: read("--ok"),
    pause: of("--pause"),
    pause2: of("--pause-2"),
    pauseInk: read("--pause-i"),
    fail: of("--fail"),
    failInk: read("--fail-i"),
    failText: read("--fail-t"),
    ink,
    mono: read("--mono"),
    font: read("--font"),
    nameStyle(name) {
      styles[name] ??= phases.get(phaseOf(names.list[name] ?? "")) as NameStyle;
      return styles[name];
    },
  };
}

export const themePalette = (): Palette => {
  const style = getComputedStyle(document.documentElement);
  return makePalette((name) => style.getPropertyValue(name));
};
