import * as Radix from "@radix-ui/react-dialog";
import type { ReactNode } from "react";
import { useWords } from "../i18n";
import { Icon } from "./Glyph";
import ui from "./ui.module.css";
import { cx } from "./widgets";

interface Props {
  title: string;
  open: boolean;
  /** Without it the dialog can't be closed. */
  onClose?: () => void;
  testId?: string;
  children: ReactNode;
}

export function Dialog({ title, open, onClose, testId, children }: Props) {
  const words = useWords();
  return (
    <Radix.Root open={open} onOpenChange={(next) => !next && onClose?.()}>
      <Radix.Portal>
        <Radix.Overlay className={ui.overlay} />
        <Radix.Content className={ui.dialog} data-testid={testId} aria-describedby={undefined}>
          <div className={ui.dialogHead}>
            <Radix.Title>{title}</Radix.Title>
            {onClose ? (
              <Radix.Close className={cx(ui.control, ui.square)} aria-label={words.app.close}>
                <Icon name="close" />
              </Radix.Close>
            ) : null}
          </div>
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
