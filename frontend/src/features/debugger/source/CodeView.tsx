// The editor: read-only, a chunk of its own, loaded when the first file is shown.
import { python } from "@codemirror/lang-python";
import { bracketMatching, foldKeymap, syntaxTree } from "@codemirror/language";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { EditorState } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, hoverTooltip, keymap, lineNumbers } from "@codemirror/view";
import { useEffect, useRef } from "react";
import type { Evaluated } from "../../../api/types.gen";
import { say } from "../values";
import { expressionAt } from "./hover";
import { type GutterEvents, type Marks, marksGutter, setMarks } from "./marks";
import { codeTheme } from "./theme";

export interface CodeViewProps extends GutterEvents {
  path: string;
  text: string;
  label: string;
  marks: Marks;
  /** The line to bring into view; `number` grows when it is asked for anew. */
  reveal: { line: number; number: number } | null;
  onHover: ((expression: string) => Promise<Evaluated | null>) | null;
  onCursor: (line: number) => void;
}

const LONGEST = 2000;

function tip(expression: string, value: Evaluated): HTMLElement {
  const box = document.createElement("div");
  box.className = "cm-hover";
  const { main, meta, rest } = say({ ...value, value: value.result });
  const add = (tag: string, text: string) => {
    const part = document.createElement(tag);
    part.textContent = text; // hostile: text alone
    box.append(part);
  };
  add("b", expression);
  add("span", ` = ${main.slice(0, LONGEST)}`);
  if (meta || value.type) add("i", ` ${[value.type, meta].filter(Boolean).join(" ")}`);
  if (rest) add("div", rest.slice(0, LONGEST));
  return box;
}

export default function CodeView(props: CodeViewProps) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const revealed = useRef<EditorView | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const { path, text, marks, reveal, label } = props;

  // biome-ignore lint/correctness/useExhaustiveDependencies: an editor of its own for each file, or it keeps the other's search
  useEffect(() => {
    if (!host.current) return;
    const made = new EditorView({
      parent: host.current,
      state: EditorState.create({
        doc: text,
        extensions: [
          marksGutter(() => latest.current),
          lineNumbers({
            domEventHandlers: {
              contextmenu: (editor, block, event) => {
                const { clientX, clientY } = event as MouseEvent;
                event.preventDefault();
                latest.current.onMenu(editor.state.doc.lineAt(block.from).number, clientX, clientY);
                return true;
              },
            },
          }),
          python(),
          bracketMatching(),
          drawSelection(),
          highlightActiveLine(),
          highlightSelectionMatches({ minSelectionLength: 2 }),
          search({ top: true }),
          keymap.of([...searchKeymap, ...foldKeymap]),
          EditorState.readOnly.of(true),
          EditorView.contentAttributes.of({ "aria-readonly": "true", "aria-label": label, spellcheck: "false" }),
          EditorView.updateListener.of((update) => {
            if (update.selectionSet)
              latest.current.onCursor(update.state.doc.lineAt(update.state.selection.main.head).number);
          }),
          EditorView.domEventHandlers({
            contextmenu: (event, editor) => {
              const at = editor.posAtCoords({ x: event.clientX, y: event.clientY });
              if (at === null) return false;
              event.preventDefault();
              latest.current.onMenu(editor.state.doc.lineAt(at).number, event.clientX, event.clientY);
              return true;
            },
          }),
          hoverTooltip(
            async (editor, position) => {
              const { onHover } = latest.current;
              const found = expressionAt(syntaxTree(editor.state), editor.state.doc.toString(), position);
              if (!onHover || !found || found.text.length > 200) return null;
              const value = await onHover(found.text);
              if (!value) return null;
              return { pos: found.from, end: found.to, above: true, create: () => ({ dom: tip(found.text, value) }) };
            },
            { hoverTime: 350 },
          ),
          codeTheme,
        ],
      }),
    });
    view.current = made;
    return () => {
      view.current = null;
      made.destroy();
    };
  }, [path, text, label]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: a fresh editor has no marks yet
  useEffect(() => {
    view.current?.dispatch({ effects: setMarks.of(marks) });
  }, [marks, path, text]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: a fresh editor stands at its top
  useEffect(() => {
    const editor = view.current;
    if (!editor || !reveal || reveal.line < 1 || reveal.line > editor.state.doc.lines) return;
    const line = editor.state.doc.line(reveal.line);
    // A line that is well in view stays where it is: code that doesn't move is easier to step through.
    const top = editor.scrollDOM.scrollTop;
    const block = editor.lineBlockAt(line.from);
    // A fresh editor only guesses how high its lines are.
    const fresh = revealed.current !== editor;
    revealed.current = editor;
    const seen = !fresh && block.top > top + 38 && block.bottom < top + editor.scrollDOM.clientHeight - 57;
    editor.dispatch({
      selection: { anchor: line.from },
      effects: seen ? [] : EditorView.scrollIntoView(line.from, { y: "center" }),
    });
  }, [reveal, path, text]);

  return <div ref={host} style={{ height: "100%", minHeight: 0 }} data-testid="code" data-path={path} />;
}
