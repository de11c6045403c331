import { useWords } from "../i18n";
import { Dialog } from "../ui/Dialog";
import ui from "../ui/ui.module.css";
import s from "./shell.module.css";

export function HelpDialog({ open, onClose }: { open: boolean; onClose: () => void }) {
  const { help } = useWords();
  return (
    <Dialog title={help.title} open={open} onClose={onClose} testId="help">
      <dl className={s.keys}>
        {help.keys.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd className={ui.key}>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
