import { useWords } from "../../../i18n";
import { cx } from "../../../ui/widgets";
import s from "../right.module.css";
import { say, type Valued } from "../values";

const LONGEST_TITLE = 1000;

/** What it is, then what is in it, on one line. */
export function ValueText({ of }: { of: Valued }) {
  const { debugger: t } = useWords();
  const { main, look, meta, rest } = say(of);
  const clipped = of.summary?.clipped ?? 0;
  const title = [of.type, of.value.slice(0, LONGEST_TITLE)].filter(Boolean).join(": ");
  return (
    <span className={s.text} title={title}>
      <span className={cx(s.main, s[look])}>{main}</span>
      {meta ? <span className={s.meta}> {meta}</span> : null}
      {of.summary?.pending ? <span className={s.meta}> {t.pending}</span> : null}
      {rest ? <span className={s.rest}> {rest}</span> : null}
      {clipped > 0 ? (
        <span className={s.meta} title={t.clippedValue(clipped)}>
          {" "}
          …
        </span>
      ) : null}
    </span>
  );
}
