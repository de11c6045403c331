import { useWords } from "../i18n";
import { Dialog } from "../ui/Dialog";
import ui from "../ui/ui.module.css";
import s from "./shell.module.css";

export function HelpDialog({ open, onClose }: { open: boolean; onClose: () => void }) {
  const { app, help } = useWords();
  return (
    <Dialog title={help.title} open={open} onClose={onClose} testId="help">
      <Keys list={help.keys} />
      <h3 className={s.keysTitle}>{app.timeline}</h3>
      <Keys list={help.timeline} />
      <h3 className={s.keysTitle}>{app.debugger}</h3>
      <Keys list={help.debugger} />
    </Dialog>
  );
}

function Keys({ list }: { list: [string, string][] }) {
  return (
    <dl className={s.keys}>
      {list.map(([key, what]) => (
        <div key={key}>
          <dt>
            <kbd className={ui.key}>{key}</kbd>
          </dt>
          <dd>{what}</dd>
        </div>
      ))}
    </dl>
  );
}
