import { useEffect, useState } from "react";
import { askDebug, reasonOf } from "../../../api/debug";
import type { DebugSession } from "../../../api/types.gen";
import { useWords } from "../../../i18n";
import { Icon } from "../../../ui/Glyph";
import ui from "../../../ui/ui.module.css";
import { Button, cx } from "../../../ui/widgets";
import s from "../inspect.module.css";
import { shownFrame } from "../looking";
import r from "../right.module.css";
import { useDebug } from "../state";
import { HeatMapView } from "./HeatMapView";
import { asHeatMap, asStatistics, asTable, noteOf, type Statistics, type Table } from "./inspected";

const VIEWS = ["statistics", "heatmap", "table"] as const;
type View = (typeof VIEWS)[number];

const ROWS = 50;
const COLUMNS = 20;

interface Answer {
  of: string;
  body: unknown;
  error: string | null;
}

/** Looks into an array, on request: no more is moved than is shown. Asked anew at each stop while it is open. */
export function Inspect({ session }: { session: DebugSession }) {
  const { debugger: t, app } = useWords();
  const inspected = useDebug((state) => state.inspected);
  const [view, setView] = useState<View>("statistics");
  if (!inspected) return null;
  return (
    <section className={cx(r.section, s.panel)} aria-label={t.inspectTitle(inspected.name)} data-testid="inspect">
      <header className={r.head}>
        <b className={cx(ui.mono, ui.cut)} title={inspected.expression}>
          {inspected.name}
        </b>
        <span className={ui.grow} />
        <div className={r.tabs} role="tablist" aria-label={t.inspectTitle(inspected.name)}>
          {VIEWS.map((one) => (
            <button key={one} type="button" role="tab" aria-selected={one === view} onClick={() => setView(one)}>
              {t.views[one]}
            </button>
          ))}
        </div>
        <button
          type="button"
          className={ui.copy}
          aria-label={app.close}
          title={app.close}
          onClick={() => useDebug.setState({ inspected: null })}
        >
          <Icon name="close" size={13} />
        </button>
      </header>
      <Body
        key={`${inspected.expression} ${view}`}
        worker={session.worker_id}
        expression={inspected.expression}
        view={view}
      />
    </section>
  );
}

function Body({ worker, expression, view }: { worker: string; expression: string; view: View }) {
  const { debugger: t } = useWords();
  const epoch = useDebug((state) => (state.shown ? `${state.shown.epoch}/${state.shown.index}` : ""));
  const frameId = useDebug((state) => shownFrame(state.shown)?.id ?? null);
  const [index, setIndex] = useState<readonly number[]>([]);
  const [row, setRow] = useState(0);
  const [answer, setAnswer] = useState<Answer | null>(null);
  const of = `${epoch} ${index.join()} ${row}`;
  // biome-ignore lint/correctness/useExhaustiveDependencies: `of` names all that the question depends on
  useEffect(() => {
    if (frameId === null) return;
    let wanted = true;
    const ask = async () => {
      const value = await askDebug(worker, "evaluate", { expression, frameId, context: "watch" });
      if (!wanted) return;
      const reference = value.variablesReference ?? 0;
      if (reference === 0) return setAnswer({ of, body: null, error: t.noInspect });
      const more =
        view === "table"
          ? { index, rows: [row, row + ROWS], columns: [0, COLUMNS] }
          : view === "heatmap"
            ? { index, reduce: "mean" }
            : {};
      const body = await askDebug(worker, "inspect", { variablesReference: reference, view, ...more });
      if (wanted) setAnswer({ of, body, error: null });
    };
    ask().catch((error: unknown) => wanted && setAnswer({ of, body: null, error: reasonOf(error) }));
    return () => {
      wanted = false;
    };
  }, [of, frameId]);
  if (!answer) return <p className={r.hint}>{t.loading}</p>;
  const note = noteOf(answer.body);
  const map = view === "heatmap" ? asHeatMap(answer.body) : null;
  const table = view === "table" ? asTable(answer.body) : null;
  const statistics = view === "statistics" ? asStatistics(answer.body) : null;
  const leading = map ?? table;
  return (
    <div className={cx(r.scroll, s.body)} data-old={answer.of !== of || undefined}>
      {answer.error === null ? null : <p className={cx(r.hint, r.wrong)}>{answer.error}</p>}
      {note ? <p className={r.hint}>{note}</p> : null}
      {leading && leading.index.length > 0 ? (
        <Leading used={leading.index} onChange={(at, value) => setIndex(changed(leading.index, at, value))} />
      ) : null}
      {statistics ? <Figures of={statistics} /> : null}
      {map ? <HeatMapView map={map} /> : null}
      {table ? <Cells table={table} onRow={setRow} /> : null}
    </div>
  );
}

const changed = (index: readonly number[], at: number, value: number): number[] =>
  index.map((one, i) => (i === at ? value : one));

/** Which of the leading dimensions' planes is shown. */
function Leading({ used, onChange }: { used: number[]; onChange: (at: number, value: number) => void }) {
  const { debugger: t } = useWords();
  return (
    <div className={s.leading}>
      {used.map((value, i) => (
        <label key={i}>
          {t.dimension(i)}
          <input
            type="number"
            min={0}
            value={value}
            onChange={(event) => onChange(i, Math.max(0, Math.floor(Number(event.target.value) || 0)))}
          />
        </label>
      ))}
    </div>
  );
}

function Figures({ of }: { of: Statistics }) {
  const { debugger: t } = useWords();
  const most = Math.max(1, ...(of.histogram?.bins ?? []));
  return (
    <>
      <dl className={s.figures}>
        {of.facts.map(([name, value]) => (
          <div key={name}>
            <dt>{t.figures[name] ?? name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {of.seen < of.total ? <p className={r.hint}>{t.seenOnly(of.seen, of.total)}</p> : null}
      {of.histogram ? (
        <figure className={s.histogram}>
          <svg
            viewBox={`0 0 ${of.histogram.bins.length} 40`}
            preserveAspectRatio="none"
            role="img"
            aria-label={t.histogram}
          >
            {of.histogram.bins.map((count, i) => (
              <rect
                key={i}
                x={i + 0.08}
                width={0.84}
                y={40 - (38 * count) / most}
                height={count > 0 ? Math.max(0.7, (38 * count) / most) : 0}
              />
            ))}
          </svg>
          <figcaption>
            <span>{of.histogram.low}</span>
            <span>{of.histogram.high}</span>
          </figcaption>
        </figure>
      ) : null}
    </>
  );
}

function Cells({ table, onRow }: { table: Table; onRow: (row: number) => void }) {
  const { debugger: t } = useWords();
  const [from, to] = table.rows;
  const total = table.shape[0] ?? 0;
  return (
    <>
      <div className={s.paging}>
        <span className={ui.dim}>{t.rowsOf(from, to, total)}</span>
        <Button small disabled={from === 0} onClick={() => onRow(Math.max(0, from - ROWS))}>
          {t.before}
        </Button>
        <Button small disabled={to >= total} onClick={() => onRow(to)}>
          {t.after}
        </Button>
      </div>
      <div className={s.tableBox}>
        <table className={s.table}>
          <thead>
            <tr>
              <th />
              {table.names.map((name, i) => (
                <th key={i} title={table.dtypes[i]}>
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {table.cells.map((cells, i) => (
              <tr key={i}>
                <th>{table.labels[i]}</th>
                {cells.map((cell, j) => (
                  <td key={j} title={cell}>
                    {cell}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
