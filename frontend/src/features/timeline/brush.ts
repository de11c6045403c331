// What everything on the canvas is drawn with: the context, the colours, and some shapes and texts.
import { GLYPHS } from "../../ui/glyphs";
import type { Scale } from "./layout";
import { type Palette, pixel } from "./palette";
import { Columns, paintColumns, REACH } from "./raster";

type Context = CanvasRenderingContext2D;

const FONT_SIZE = 10.5;
/** Texts are drawn once each and kept as pictures: drawing letters costs ten times as much. */
const MOST_TEXTS = 3000;

/** `update_actor` in little room is `actor`. */
const VERB = /^(compute|update|generate|get|run|do)_(?=\w{3})/;

interface Picture {
  canvas: HTMLCanvasElement;
  width: number;
}

export class Brush {
  readonly hatch: CanvasPattern | string;
  readonly charWidth: number;
  private columns = new Columns(0);
  private readonly images = new Map<number, { image: ImageData; words: Uint32Array }>();
  private readonly texts = new Map<string, Picture>();

  constructor(
    readonly ctx: Context,
    readonly palette: Palette,
    readonly ratio: number,
  ) {
    this.hatch = makeHatch(ctx, palette, ratio) ?? palette.pause.css;
    ctx.font = `${FONT_SIZE}px ${palette.mono}`;
    this.charWidth = ctx.measureText("0000000000").width / 10;
  }

  rect(x: number, y: number, width: number, height: number, fill: string | CanvasPattern): void {
    this.ctx.fillStyle = fill;
    this.ctx.fillRect(x, y, width, height);
  }

  /** Mono text, its middle at `y`, cut to `room`; a verb that many methods begin with goes first. */
  label(text: string, x: number, y: number, room: number, ink: string, bold = false): void {
    const most = Math.floor(room / this.charWidth);
    const short = text.length > most ? text.replace(VERB, "") : text;
    // Two letters and an ellipsis say nothing.
    if (most < Math.min(6, short.length)) return;
    const cut = short.length > most;
    const end = this.letters(short, x, y, ink, bold, cut ? (most - 1) * this.charWidth : undefined);
    if (cut) this.letters("…", end, y, ink, bold);
  }

  /** Gives its right edge. A cut text is a part of the whole one's picture: while one zooms, no new ones are made. */
  private letters(text: string, x: number, y: number, ink: string, bold: boolean, most?: number): number {
    const { canvas, width } = this.picture(text, ink, bold);
    const { ratio, ctx } = this;
    const wide = Math.min(canvas.width, Math.round((most ?? width) * ratio));
    const [left, top] = [Math.round(x * ratio) / ratio, Math.round((y - 7) * ratio) / ratio];
    ctx.drawImage(canvas, 0, 0, wide, canvas.height, left, top, wide / ratio, canvas.height / ratio);
    return left + wide / ratio;
  }

  private picture(text: string, ink: string, bold: boolean): Picture {
    const key = `${bold ? "b" : ""}${ink} ${text}`;
    let picture = this.texts.get(key);
    if (!picture) {
      const width = Math.ceil((text.length + 1) * this.charWidth * (isPlain(text) ? 1 : 2));
      const canvas = document.createElement("canvas");
      canvas.width = Math.ceil(width * this.ratio);
      canvas.height = Math.ceil(14 * this.ratio);
      const ctx = canvas.getContext("2d");
      if (ctx) {
        ctx.scale(this.ratio, this.ratio);
        ctx.font = `${bold ? "600 " : ""}${FONT_SIZE}px ${this.palette.mono}`;
        ctx.textBaseline = "middle";
        ctx.fillStyle = ink;
        ctx.fillText(text, 0, 7.5);
      }
      picture = { canvas, width };
      if (this.texts.size >= MOST_TEXTS) this.texts.clear();
      this.texts.set(key, picture);
    }
    return picture;
  }

  /** It goes on: a bar ends in a point. */
  point(x: number, top: number, height: number, fill: string): void {
    const { ctx } = this;
    ctx.fillStyle = fill;
    ctx.beginPath();
    ctx.moveTo(x, top);
    ctx.lineTo(x + 5, top + height / 2);
    ctx.lineTo(x, top + height);
    ctx.fill();
  }

  glyph(name: keyof typeof GLYPHS, x: number, y: number, size: number, fill: string): void {
    const { ctx } = this;
    ctx.save();
    ctx.translate(x, y);
    ctx.scale(size / 10, size / 10);
    ctx.fillStyle = fill;
    ctx.fill(shape(name), "evenodd");
    ctx.restore();
  }

  /** Columns for a lane of this width, cleared. */
  fresh(scale: Scale): Columns {
    const width = Math.round(scale.width * this.ratio);
    if (this.columns.width !== width) {
      this.columns = new Columns(width);
      this.images.clear();
    } else this.columns.clear();
    return this.columns;
  }

  /** Puts columns on the canvas as a bar. `blank`: what shows where nothing is. */
  raster(columns: Columns, top: number, height: number, blank: Uint32Array): void {
    const { ratio } = this;
    const tall = Math.round((height + 2 * REACH) * ratio);
    let made = this.images.get(tall);
    if (!made) {
      const image = this.ctx.createImageData(columns.width, tall);
      made = { image, words: new Uint32Array(image.data.buffer) };
      this.images.set(tall, made);
    }
    paintColumns(made.words, tall, columns, blank, this.palette, ratio);
    this.ctx.putImageData(made.image, 0, Math.round((top - REACH) * ratio));
  }

  /** A bar without the reach of failures, on a ground of its own. */
  strip(columns: Columns, top: number, height: number, blank: Uint32Array, palette: Palette): void {
    const { ratio } = this;
    const tall = Math.max(1, Math.round(height * ratio));
    const image = this.ctx.createImageData(columns.width, tall);
    paintColumns(new Uint32Array(image.data.buffer), tall, columns, blank, palette, ratio, 0);
    this.ctx.putImageData(image, 0, Math.round(top * ratio));
  }

  /** A row of pixels without marks: the background with the ruler's lines. */
  blank(scale: Scale, ground: "surface" | "surface2", lines: readonly number[]): Uint32Array {
    const row = new Uint32Array(Math.round(scale.width * this.ratio));
    row.fill(pixel(this.palette[ground]));
    const line = pixel(this.palette.line);
    const thick = Math.max(1, Math.round(this.ratio));
    for (const x of lines) row.fill(line, Math.max(0, x), Math.max(0, x + thick));
    return row;
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII
const isPlain = (text: string) => /^[\x00-\x7f…·✕–]*$/.test(text);

const shapes = new Map<string, Path2D>();
function shape(name: keyof typeof GLYPHS): Path2D {
  let path = shapes.get(name);
  if (!path) {
    path = new Path2D(GLYPHS[name]);
    shapes.set(name, path);
  }
  return path;
}

/** The stripes of what is paused. */
function makeHatch(ctx: Context, palette: Palette, ratio: number): CanvasPattern | null {
  const size = Math.round(8 * ratio);
  const tile = document.createElement("canvas");
  tile.width = size;
  tile.height = size;
  const t = tile.getContext("2d");
  if (!t) return null;
  t.fillStyle = palette.pause.css;
  t.fillRect(0, 0, size, size);
  t.strokeStyle = palette.pause2.css;
  t.lineWidth = 1.9 * ratio;
  t.beginPath();
  for (const shift of [-size, 0, size]) {
    t.moveTo(shift - 2, size + 2);
    t.lineTo(shift + size + 2, -2);
  }
  t.globalAlpha = 0.75;
  t.stroke();
  const pattern = ctx.createPattern(tile, "repeat");
  pattern?.setTransform(new DOMMatrix().scale(1 / ratio));
  return pattern;
}
