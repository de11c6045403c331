// What stands on the lines: breakpoints, the line that is about to run, values, the form of a breakpoint.
import { type EditorState, type Extension, RangeSetBuilder, StateEffect, StateField } from "@codemirror/state";
import {
  Decoration,
  type DecorationSet,
  EditorView,
  GutterMarker,
  gutter,
  gutterLineClass,
  WidgetType,
} from "@codemirror/view";
import type { Breakpoint } from "../../../api/types.gen";
import { isHollow, problemOf, type Shape, shapeOf } from "../breakpoints";
import { colourOf, outlineOf, PATHS } from "../left/BreakpointShape";

export interface Marks {
  /** From 1. `top`: it is the line that runs next, else the line of a caller. */
  current: { line: number; top: boolean } | null;
  breakpoints: readonly Breakpoint[];
  inline: ReadonlyMap<number, string>;
  form: { line: number; host: HTMLElement } | null;
}

export const NO_MARKS: Marks = { current: null, breakpoints: [], inline: new Map(), form: null };
export const setMarks = StateEffect.define<Marks>();

class Inline extends WidgetType {
  constructor(readonly text: string) {
    super();
  }
  override eq(other: Inline): boolean {
    return other.text === this.text;
  }
  toDOM(): HTMLElement {
    const span = document.createElement("span");
    span.className = "cm-inline";
    span.setAttribute("aria-hidden", "true");
    span.textContent = this.text; // hostile: text alone
    return span;
  }
}

class Form extends WidgetType {
  constructor(readonly host: HTMLElement) {
    super();
  }
  override eq(other: Form): boolean {
    return other.host === this.host;
  }
  toDOM(): HTMLElement {
    return this.host;
  }
  override ignoreEvent(): boolean {
    return true;
  }
}

const SVG = "http://www.w3.org/2000/svg";

export class Mark extends GutterMarker {
  readonly shape: Shape | null;
  readonly hollow: boolean;
  readonly off: boolean;
  readonly problem: string | null;

  constructor(
    one: Breakpoint | undefined,
    readonly arrow: "current" | "caller" | null,
  ) {
    super();
    this.shape = one ? shapeOf(one) : null;
    this.hollow = one !== undefined && isHollow(one);
    this.off = one?.enabled === false;
    this.problem = one ? problemOf(one) : null;
  }
  override eq(other: Mark): boolean {
    return (
      other.shape === this.shape &&
      other.hollow === this.hollow &&
      other.off === this.off &&
      other.problem === this.problem &&
      other.arrow === this.arrow
    );
  }
  override toDOM(): HTMLElement {
    const box = document.createElement("span");
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("width", "16");
    svg.setAttribute("height", "12");
    svg.setAttribute("viewBox", "-2 0 16 12");
    const path = (d: string, attributes: Record<string, string>) => {
      const one = document.createElementNS(SVG, "path");
      one.setAttribute("d", d);
      for (const [name, value] of Object.entries(attributes)) one.setAttribute(name, value);
      svg.append(one);
    };
    if (this.arrow)
      path("M-1.5 1.5h7.5L12 6l-6 4.5h-7.5z", {
        fill: this.arrow === "current" ? "var(--curline-b)" : "none",
        stroke: this.arrow === "current" ? "var(--fg)" : "var(--accent)",
        "stroke-width": "1",
      });
    if (this.shape) {
      const colour = colourOf(this.shape);
      path(this.hollow ? outlineOf(this.shape) : PATHS[this.shape], {
        "fill-rule": "evenodd",
        fill: this.hollow ? "none" : colour,
        stroke: colour,
        "stroke-width": this.hollow ? "1.4" : "0",
        opacity: this.off ? "0.45" : "1",
        transform: this.arrow ? "translate(.8 2.4) scale(.6)" : "",
      });
    }
    box.append(svg);
    box.dataset.shape = this.shape ?? "";
    if (this.hollow) box.dataset.hollow = "";
    if (this.problem) box.title = this.problem;
    return box;
  }
}

class LineClass extends GutterMarker {
  constructor(override readonly elementClass: string) {
    super();
  }
}
const LINE_CLASS = { current: new LineClass("cm-currentGutter"), caller: new LineClass("cm-callerGutter") };
const LINE_DECORATION = {
  current: Decoration.line({ class: "cm-current", attributes: { "data-current": "" } }),
  caller: Decoration.line({ class: "cm-caller", attributes: { "data-current": "caller" } }),
};

function decorate(state: EditorState, marks: Marks): DecorationSet {
  const { doc } = state;
  const current = marks.current && marks.current.line <= doc.lines ? marks.current : null;
  const form = marks.form && marks.form.line <= doc.lines ? marks.form : null;
  const lines = new Set([...marks.inline.keys(), ...(current ? [current.line] : []), ...(form ? [form.line] : [])]);
  const builder = new RangeSetBuilder<Decoration>();
  for (const number of [...lines].sort((a, b) => a - b)) {
    if (number < 1 || number > doc.lines) continue;
    const line = doc.line(number);
    if (current?.line === number)
      builder.add(line.from, line.from, LINE_DECORATION[current.top ? "current" : "caller"]);
    const text = marks.inline.get(number);
    if (text) builder.add(line.to, line.to, Decoration.widget({ widget: new Inline(text), side: 1 }));
    if (form?.line === number)
      builder.add(line.to, line.to, Decoration.widget({ widget: new Form(form.host), side: 2, block: true }));
  }
  return builder.finish();
}

export const marksField = StateField.define<{ marks: Marks; decorations: DecorationSet }>({
  create: () => ({ marks: NO_MARKS, decorations: Decoration.none }),
  update(value, transaction) {
    for (const effect of transaction.effects)
      if (effect.is(setMarks)) return { marks: effect.value, decorations: decorate(transaction.state, effect.value) };
    return transaction.docChanged ? { marks: NO_MARKS, decorations: Decoration.none } : value;
  },
  provide: (field) => EditorView.decorations.from(field, (value) => value.decorations),
});

function gutterMarks(state: EditorState) {
  const { marks } = state.field(marksField);
  const builder = new RangeSetBuilder<GutterMarker>();
  const by = new Map(marks.breakpoints.map((one) => [one.line, one]));
  const current = marks.current;
  const lines = new Set([...by.keys(), ...(current ? [current.line] : [])]);
  for (const number of [...lines].sort((a, b) => a - b)) {
    if (number < 1 || number > state.doc.lines) continue;
    const one = by.get(number);
    const arrow = current?.line === number ? (current.top ? "current" : "caller") : null;
    const at = state.doc.line(number).from;
    builder.add(at, at, new Mark(one, arrow));
  }
  return builder.finish();
}

export interface GutterEvents {
  onGutter: (line: number, event: MouseEvent) => void;
  onMenu: (line: number, x: number, y: number) => void;
}

/** Handlers are looked up when they are called: the editor outlives what the page hands it. */
export function marksGutter(events: () => GutterEvents): Extension {
  return [
    marksField,
    gutter({
      class: "cm-marks",
      renderEmptyElements: true,
      markers: (view) => gutterMarks(view.state),
      domEventHandlers: {
        click: (view, block, event) => {
          events().onGutter(view.state.doc.lineAt(block.from).number, event as MouseEvent);
          return true;
        },
        contextmenu: (view, block, event) => {
          const { clientX, clientY } = event as MouseEvent;
          event.preventDefault();
          events().onMenu(view.state.doc.lineAt(block.from).number, clientX, clientY);
          return true;
        },
      },
    }),
    gutterLineClass.compute([marksField], (state) => {
      const { current } = state.field(marksField).marks;
      const builder = new RangeSetBuilder<GutterMarker>();
      if (current && current.line >= 1 && current.line <= state.doc.lines) {
        const at = state.doc.line(current.line).from;
        builder.add(at, at, LINE_CLASS[current.top ? "current" : "caller"]);
      }
      return builder.finish();
    }),
  ];
}
