import { type RefObject, useEffect, useRef, useState } from "react";
import { useWords } from "../../../i18n";
import s from "../console.module.css";
import { keepHeight, keyed, LEAST, mostOf, setHeight, useHeight, within } from "./height";

const measure = (pane: HTMLElement | null) => ({
  now: Math.round(pane?.getBoundingClientRect().height ?? 0),
  most: mostOf(pane?.parentElement?.clientHeight ?? 0),
});

/** The edge between source and console: dragged, or moved by keys; a double click gives the console its usual share. */
export function Grip({ pane }: { pane: RefObject<HTMLElement | null> }) {
  const { debugger: t } = useWords();
  const wanted = useHeight((state) => state.wanted);
  const [seen, setSeen] = useState({ now: 0, most: 0 });
  const drag = useRef<{ y: number; height: number } | null>(null);
  useEffect(() => {
    const outer = pane.current?.parentElement;
    if (!pane.current || !outer) return;
    const look = () => setSeen(measure(pane.current));
    look();
    const observer = new ResizeObserver(look);
    observer.observe(pane.current);
    observer.observe(outer);
    return () => observer.disconnect();
  }, [pane]);
  return (
    // biome-ignore lint/a11y/useSemanticElements: a separator that is moved is no rule
    <div
      role="separator"
      aria-orientation="horizontal"
      aria-label={t.resize}
      aria-controls="debugger-console"
      aria-valuemin={LEAST}
      aria-valuemax={seen.most}
      aria-valuenow={seen.now}
      aria-valuetext={t.pixels(seen.now)}
      title={t.resizeTitle}
      tabIndex={0}
      className={s.grip}
      data-wanted={wanted ?? undefined}
      data-testid="console-grip"
      onDoubleClick={() => {
        setHeight(null);
        keepHeight();
      }}
      onKeyDown={(event) => {
        if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
        const { now, most } = measure(pane.current);
        const next = keyed(event.key, now, most);
        if (next === null) return;
        event.preventDefault();
        setHeight(next);
        keepHeight();
      }}
      onPointerDown={(event) => {
        if (event.button !== 0) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        drag.current = { y: event.clientY, height: measure(pane.current).now };
      }}
      onPointerMove={(event) => {
        if (!drag.current || event.clientY === drag.current.y) return;
        setHeight(within(drag.current.height + drag.current.y - event.clientY, measure(pane.current).most));
      }}
      onLostPointerCapture={() => {
        if (drag.current) keepHeight();
        drag.current = null;
      }}
    />
  );
}
