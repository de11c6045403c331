import { useEffect, useRef, useState } from "react";
import { useWords } from "../../../i18n";
import s from "../inspect.module.css";
import { colourAt, figure, type HeatMap } from "./inspected";

/** One pixel a cell, drawn large by the browser; what isn't a number is black. */
export function HeatMapView({ map }: { map: HeatMap }) {
  const { debugger: t } = useWords();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [at, setAt] = useState<{ row: number; column: number } | null>(null);
  const high = map.cells.length;
  const wide = map.cells[0]?.length ?? 0;
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!context || high === 0 || wide === 0) return;
    const image = context.createImageData(wide, high);
    map.cells.forEach((row, y) => {
      row.forEach((cell, x) => {
        const [red, green, blue] = colourAt(cell, map.min ?? 0, map.max ?? 0) ?? [0, 0, 0];
        image.data.set([red, green, blue, 255], (y * wide + x) * 4);
      });
    });
    context.putImageData(image, 0, 0);
  }, [map, high, wide]);
  const cell = at ? map.cells[at.row]?.[at.column] : undefined;
  const rowAt = map.rows[0] + (at?.row ?? 0) * (map.block[0] || 1);
  const columnAt = map.columns[0] + (at?.column ?? 0) * (map.block[1] || 1);
  return (
    <figure className={s.map}>
      <canvas
        ref={canvas}
        width={Math.max(1, wide)}
        height={Math.max(1, high)}
        style={{ aspectRatio: `${Math.max(1, wide)} / ${Math.max(1, Math.min(high, wide * 2))}` }}
        role="img"
        aria-label={t.inspectHeatmap(high, wide)}
        onMouseMove={(event) => {
          const box = event.currentTarget.getBoundingClientRect();
          setAt({
            row: Math.min(high - 1, Math.floor(((event.clientY - box.top) / box.height) * high)),
            column: Math.min(wide - 1, Math.floor(((event.clientX - box.left) / box.width) * wide)),
          });
        }}
        onMouseLeave={() => setAt(null)}
      />
      <figcaption>
        <span>{figure(map.min)}</span>
        <span>
          {cell !== undefined ? `[${rowAt}, ${columnAt}] ${figure(cell)}` : ""}
          {map.block[0] > 1 || map.block[1] > 1 ? ` ${t.blocks(map.block[0], map.block[1])}` : ""}
        </span>
        <span>{figure(map.max)}</span>
      </figcaption>
    </figure>
  );
}
