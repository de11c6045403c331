// The middle: open files, where one is, and its text.
import { lazy, Suspense, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { createPortal } from "react-dom";
import { askDebug } from "../../../api/debug";
import { useTable } from "../../../api/hooks";
import { useLink } from "../../../api/stores";
import type { DebugSession, SourceText, Variable } from "../../../api/types.gen";
import { useWords } from "../../../i18n";
import { baseName } from "../../../ui/format";
import { Icon, StateGlyph } from "../../../ui/Glyph";
import ui from "../../../ui/ui.module.css";
import { Bone, cx, useAfter } from "../../../ui/widgets";
import { toggleBreakpoint } from "../actions";
import { nearestLine, ofFile } from "../breakpoints";
import { isStopped } from "../follow";
import { withFormat } from "../format";
import { cursor } from "../keys";
import { fetchSource, scopeBase, shownFrame, sourceKey } from "../looking";
import { useReachable, useRight, useThread } from "../session";
import s from "../source.module.css";
import { closeTab, selectFrame, showFile, useDebug } from "../state";
import { BreakpointForm } from "./BreakpointForm";
import { inlineValues } from "./inline";
import { LineMenu } from "./LineMenu";
import type { Marks } from "./marks";

const CodeView = lazy(() => import("./CodeView"));

/** What the pane reads: the file that was opened, else the frame's, else where the thread stands. */
function useActive(): { path: string; line: number } | null {
  const view = useDebug((state) => state.view);
  const frame = useDebug((state) => shownFrame(state.shown));
  const thread = useThread();
  if (view) return view;
  if (frame?.path) return { path: frame.path, line: frame.line };
  if (frame) return null;
  return thread?.file ? { path: thread.file, line: thread.line ?? 1 } : null;
}

export function SourcePane({ session, onOpen }: { session: DebugSession; onOpen: () => void }) {
  const { debugger: t } = useWords();
  const active = useActive();
  const tabs = useDebug((state) => state.tabs);
  const node = useTable("nodes").get(session.node_id);
  const live = useLink((link) => link.phase === "live");
  const may = useRight() === "act";
  const worker = session.worker_id;
  const path = active?.path ?? null;
  const source = useDebug((state) => (path === null ? undefined : state.sources.get(sourceKey(worker, path))));
  useEffect(() => {
    if (path !== null && live && source === undefined) void fetchSource(worker, path);
  }, [worker, path, live, source]);
  const all = path !== null && !tabs.includes(path) ? [...tabs, path] : tabs;
  const text = source !== undefined && source !== "loading" && "text" in source ? source.text : null;
  const framePath = useDebug((state) => shownFrame(state.shown)?.path ?? null);
  return (
    <section className={s.pane} aria-label={path === null ? t.title : t.sourceOf(path)} data-testid="source">
      <div className={s.tabs}>
        <div className={s.tabList} role="tablist" aria-label={t.files}>
          {all.map((one) => (
            <span key={one} className={s.tab} data-on={one === path || undefined}>
              <button
                type="button"
                role="tab"
                aria-selected={one === path}
                title={one}
                onClick={() => {
                  const index = useDebug.getState().shown?.index ?? -1;
                  if (one === framePath && index >= 0) selectFrame(index);
                  else showFile(one, lineOf(one));
                }}
              >
                {baseName(one)}
              </button>
              {one === framePath ? null : (
                <button
                  type="button"
                  className={s.close}
                  aria-label={t.closeFile(baseName(one))}
                  onClick={() => closeTab(one)}
                >
                  <Icon name="close" size={11} />
                </button>
              )}
            </span>
          ))}
        </div>
        <button
          type="button"
          className={cx(ui.control, ui.square)}
          aria-label={t.openFile}
          title={t.openFile}
          onClick={onOpen}
        >
          <FileIcon />
        </button>
        <span className={ui.grow} />
        <span className={s.origin}>{node ? t.readOnly(node.ip) : ""}</span>
      </div>
      <Crumb path={path} />
      {text?.changed ? (
        <div className={s.changed} role="status" data-testid="source-changed">
          <StateGlyph tone="slow" size={11} /> {t.changed}
        </div>
      ) : null}
      <div className={s.code}>
        {text && path !== null ? (
          <Code session={session} path={path} text={text} line={active?.line ?? 1} />
        ) : source !== undefined && source !== "loading" && "error" in source ? (
          <p className={s.hint}>{t.noSource(source.error)}</p>
        ) : path === null ? (
          <p className={s.hint}>
            {isShownWithoutFile()
              ? t.noFile
              : session.state !== "running"
                ? ""
                : may
                  ? t.runsNoFile
                  : t.runsNoFileToSee}
          </p>
        ) : (
          <Bones />
        )}
      </div>
    </section>
  );
}

/** The editor measures it: margins of what is in it must count. */
function formHost(): HTMLElement {
  const host = document.createElement("div");
  host.style.display = "flow-root";
  return host;
}

/** Where each file was last read. */
const lastLines = new Map<string, number>();
const lineOf = (path: string): number => lastLines.get(path) ?? 1;
const isShownWithoutFile = (): boolean => shownFrame(useDebug.getState().shown) !== null;

function Crumb({ path }: { path: string | null }) {
  const frame = useDebug((state) => shownFrame(state.shown));
  const parts = path?.split("/").filter(Boolean) ?? [];
  const shown = parts.slice(-4);
  return (
    <div className={s.crumb} title={path ?? undefined}>
      <span className={ui.cut}>
        {parts.length > shown.length ? "…/" : path?.startsWith("/") ? "/" : ""}
        {shown.join("/")}
      </span>
      {frame && frame.path === path
        ? frame.name.split(".").map((part, i) => (
            <span key={i} className={s.crumbPart}>
              › {part}
            </span>
          ))
        : null}
    </div>
  );
}

function FileIcon() {
  return (
    <svg className={ui.icon} style={{ width: 14, height: 14 }} viewBox="0 0 16 16" aria-hidden="true">
      <path d="M4 2h5l3 3v9H4zM9 2v3h3M6 8.5h4M6 11h4" />
    </svg>
  );
}

const NOTHING: readonly Variable[] = [];

function Code({ session, path, text, line }: { session: DebugSession; path: string; text: SourceText; line: number }) {
  const { debugger: t } = useWords();
  const shown = useDebug((state) => state.shown);
  const reveals = useDebug((state) => state.reveals);
  const pages = useDebug((state) => state.pages);
  const thread = useThread();
  const may = useRight() === "act";
  const reachable = useReachable();
  const [menu, setMenu] = useState<{ line: number; x: number; y: number } | null>(null);
  const [form, setForm] = useState<Marks["form"]>(null);
  const editor = useRef<HTMLDivElement>(null);
  const frame = shownFrame(shown);
  const stopped = isStopped(thread);
  const now = stopped && shown !== null && shown.stop === thread.stop && shown.threadId === thread.threadId;
  const here = frame?.path === path && session.state !== "running";
  const where = here ? frame.line : !shown && stopped && thread.file === path ? thread.line : null;
  const top = !shown || shown.frames.findIndex((one) => !one.subtle) >= shown.index;
  const locals =
    frame && shown?.scopes[0] ? pages.get(scopeBase(frame.name, shown.scopes[0].name))?.variables : undefined;

  const breakpoints = useMemo(() => ofFile(session.breakpoints, path), [session.breakpoints, path]);
  const inline = useMemo(
    () =>
      here && frame ? inlineValues(text.text.split("\n"), frame.line, locals ?? NOTHING) : new Map<number, string>(),
    [here, frame, text, locals],
  );
  const marks: Marks = useMemo(
    () => ({ current: where === null ? null : { line: where, top }, breakpoints, inline, form }),
    [where, top, breakpoints, inline, form],
  );
  const reveal = useMemo(() => ({ line, number: reveals }), [line, reveals]);

  const canSet = may && reachable && session.state !== "ended";
  const openForm = useCallback((at: number) => setForm({ line: at, host: formHost() }), []);
  const onGutter = (at: number, event: MouseEvent) => {
    if (!canSet) return;
    const target = breakpoints.some((one) => one.line === at) ? at : nearestLine(text.breakable, at);
    if (event.altKey) openForm(target);
    else void toggleBreakpoint(session.breakpoints, path, target);
  };
  const onHover = async (expression: string) => {
    if (!frame) return null;
    try {
      const args = withFormat({ expression, frameId: frame.id, context: "hover" as const });
      const value = await askDebug(session.worker_id, "evaluate", args);
      return value.waiting ? null : value;
    } catch {
      return null; // no value there, no tip
    }
  };
  useEffect(() => {
    cursor.at = { path, line };
    return () => {
      cursor.at = null;
    };
  }, [path, line]);
  return (
    <>
      <div ref={editor} className={s.editor} data-old={(here && !now) || undefined}>
        <Suspense fallback={<Bones />}>
          <CodeView
            path={path}
            text={text.text}
            label={t.sourceOf(path)}
            marks={marks}
            reveal={reveal}
            onGutter={onGutter}
            onMenu={(at, x, y) => setMenu({ line: at, x, y })}
            onHover={may && now && here ? onHover : null}
            onCursor={(at) => {
              cursor.at = { path, line: at };
              lastLines.set(path, at);
            }}
          />
        </Suspense>
      </div>
      {text.clipped > 0 ? <p className={s.hint}>{t.clipped(text.clipped)}</p> : null}
      {form
        ? createPortal(
            <BreakpointForm
              key={form.line}
              path={path}
              line={form.line}
              one={breakpoints.find((one) => one.line === form.line)}
              onClose={() => {
                setForm(null);
                editor.current?.querySelector<HTMLElement>("[contenteditable]")?.focus();
              }}
            />,
            form.host,
          )
        : null}
      {menu ? (
        <LineMenu
          path={path}
          at={menu}
          all={session.breakpoints}
          canSet={canSet}
          canMove={may && reachable && now && !thread?.unwound}
          onForm={openForm}
          onClose={() => setMenu(null)}
        />
      ) : null}
    </>
  );
}

/** The editor's chunk and the file come at once as a rule. */
function Bones() {
  const { debugger: t } = useWords();
  const late = useAfter(300);
  if (!late) return null;
  return (
    <div className={s.bones} role="status" aria-label={t.loadingSource}>
      {Array.from({ length: 14 }, (_, i) => (
        <Bone key={i} width={`${20 + ((i * 53) % 55)}%`} height={10} />
      ))}
    </div>
  );
}
