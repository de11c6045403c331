import * as Menu from "@radix-ui/react-dropdown-menu";
import { useRef, useState } from "react";
import type { Breakpoint } from "../../../api/types.gen";
import { useWords } from "../../../i18n";
import { copyText } from "../../../ui/copy";
import ui from "../../../ui/ui.module.css";
import { setBreakpoint, toggleBreakpoint, toLine } from "../actions";
import { asked, problemOf } from "../breakpoints";

interface Props {
  path: string;
  at: { line: number; x: number; y: number };
  all: readonly Breakpoint[];
  /** Breakpoints may be set; the thread may be moved. */
  canSet: boolean;
  canMove: boolean;
  onForm: (line: number) => void;
  onClose: () => void;
}

export function LineMenu({ path, at, all, canSet, canMove, onForm, onClose }: Props) {
  const { debugger: t } = useWords();
  const { line } = at;
  const one = all.find((other) => other.path === path && other.line === line);
  const problem = one ? problemOf(one) : null;
  const [before] = useState(() => document.activeElement);
  const formOpens = useRef(false);
  const item = (text: string, enabled: boolean, onSelect: () => void, key?: string) => (
    <Menu.Item className={ui.menuItem} disabled={!enabled} onSelect={onSelect}>
      <span className={ui.grow}>{text}</span>
      {key ? <kbd className={ui.dim}>{key}</kbd> : null}
    </Menu.Item>
  );
  return (
    <Menu.Root open onOpenChange={(open) => !open && onClose()}>
      <Menu.Trigger asChild>
        <span aria-hidden="true" style={{ position: "fixed", left: at.x, top: at.y, width: 0, height: 0 }} />
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Content
          className={ui.menu}
          align="start"
          aria-label={t.lineMenu(line)}
          data-testid="line-menu"
          onCloseAutoFocus={(event) => {
            event.preventDefault();
            // Not before: an open menu takes back the focus that the form's first field asks for.
            if (formOpens.current) onForm(line);
            else if (before instanceof HTMLElement) before.focus();
          }}
        >
          <Menu.Label className={ui.menuLabel}>{t.lineMenu(line)}</Menu.Label>
          {problem ? <Menu.Label className={ui.menuLabel}>{problem}</Menu.Label> : null}
          {item(
            one ? t.removeBreakpoint : t.toggleBreakpoint,
            canSet,
            () => void toggleBreakpoint(all, path, line),
            t.keyOf.breakpoint,
          )}
          {item(t.editBreakpoint, canSet, () => {
            formOpens.current = true;
          })}
          {one
            ? item(one.enabled ? t.disableBreakpoint : t.enableBreakpoint, canSet, () => {
                const { line: _line, ...rest } = asked(one);
                void setBreakpoint(path, line, { ...rest, enabled: !one.enabled });
              })
            : null}
          {item(t.runToLine, canMove, () => void toLine("runTo", path, line), t.keyOf.runTo)}
          {item(t.setNext, canMove, () => void toLine("goto", path, line))}
          {item(t.copyPlace, true, () => void copyText(`${path}:${line}`))}
        </Menu.Content>
      </Menu.Portal>
    </Menu.Root>
  );
}
