import * as Menu from "@radix-ui/react-dropdown-menu";
import type { Variable } from "../../../api/types.gen";
import { useWords } from "../../../i18n";
import { copyText } from "../../../ui/copy";
import ui from "../../../ui/ui.module.css";
import { useDebug } from "../state";
import { isArray } from "../values";
import { addWatch } from "./watchStore";

interface Props {
  variable: Variable;
  x: number;
  y: number;
  onEdit?: () => void;
  onClose: () => void;
}

export function ValueMenu({ variable, x, y, onEdit, onClose }: Props) {
  const { debugger: t } = useWords();
  const expression = variable.evaluateName ?? null;
  return (
    <Menu.Root open onOpenChange={(open) => !open && onClose()}>
      <Menu.Trigger asChild>
        <span aria-hidden="true" style={{ position: "fixed", left: x, top: y, width: 0, height: 0 }} />
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Content
          className={ui.menu}
          align="start"
          aria-label={t.valueMenu(variable.name)}
          onCloseAutoFocus={(event) => event.preventDefault()}
        >
          {onEdit ? (
            <Menu.Item className={ui.menuItem} onSelect={onEdit}>
              {t.editValue}
            </Menu.Item>
          ) : null}
          <Menu.Item className={ui.menuItem} onSelect={() => void copyText(variable.value)}>
            {t.copyValue}
          </Menu.Item>
          {expression === null ? null : (
            <>
              <Menu.Item className={ui.menuItem} onSelect={() => void copyText(expression)}>
                {t.copyExpression}
              </Menu.Item>
              <Menu.Item className={ui.menuItem} onSelect={() => addWatch(expression)}>
                {t.addWatch}
              </Menu.Item>
              {isArray(variable.summary) ? (
                <Menu.Item
                  className={ui.menuItem}
                  onSelect={() => useDebug.setState({ inspected: { name: variable.name, expression } })}
                >
                  {t.inspect}
                </Menu.Item>
              ) : null}
            </>
          )}
        </Menu.Content>
      </Menu.Portal>
    </Menu.Root>
  );
}
