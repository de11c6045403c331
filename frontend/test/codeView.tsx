// In place of the editor: jsdom has no layout, which an editor needs; that one is tried in a browser (e2e/specs).
import { useEffect, useRef } from "react";
import type { CodeViewProps } from "../src/features/debugger/source/CodeView";

export default function CodeView({ path, marks, onGutter, onMenu }: CodeViewProps) {
  const form = useRef<HTMLDivElement>(null);
  useEffect(() => form.current?.replaceChildren(...(marks.form ? [marks.form.host] : [])), [marks.form]);
  return (
    <div data-testid="code" data-path={path} data-line={marks.current?.line}>
      <button type="button" onClick={(event) => onGutter(208, event.nativeEvent)}>
        gutter 208
      </button>
      <button type="button" onClick={() => onMenu(209, 1, 1)}>
        menu 209
      </button>
      {[...marks.inline].map(([line, text]) => (
        <i key={line}>{`${line}: ${text}`}</i>
      ))}
      <div ref={form} />
    </div>
  );
}
