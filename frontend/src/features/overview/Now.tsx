import { useSince } from "../../api/clock";
import type { Job } from "../../api/types.gen";
import { useWords } from "../../i18n";
import { formatDuration, shortCommand } from "../../ui/format";
import { Swatch } from "../../ui/Glyph";
import ui from "../../ui/ui.module.css";
import { Cut, cx, Since } from "../../ui/widgets";
import type { Headline } from "./headline";
import s from "./overview.module.css";

const SETTLED_MS = 2000;

/** Methods that come and go several times a second would make the sentence flicker: named once they last. */
function useCalm(line: Headline): Headline {
  const { headline: t } = useWords();
  const lasted = useSince(line.tone === "running" ? line.since : null);
  return lasted === null || lasted >= SETTLED_MS ? line : { ...line, title: t.plain, detail: "", since: null };
}

/** The one sentence about what needs attention now. */
export function Now({ line: newest, job }: { line: Headline; job: Job }) {
  const words = useWords();
  const line = useCalm(newest);
  const ended = useSince(job.state === "finished" ? job.end_ns : null);
  const ago = ended === null ? null : words.job.endedAgo(formatDuration(ended, words.units));
  const detail = [ago, line.detail || shortCommand(job.entrypoint)].filter(Boolean).join(" · ");
  return (
    <section className={cx(ui.panel, s.now)} data-tone={line.tone} data-testid="headline" aria-live="polite">
      <Swatch tone={line.tone} size={30} />
      <div className={s.nowText}>
        <div className={s.nowFirst}>
          <h1 className={cx(ui.cut, line.tone !== "running" && ui.tone)} title={line.title}>
            {line.title}
          </h1>
          <Since ns={line.since} className={cx(s.nowSince, line.tone !== "running" ? ui.tone : ui.dim)} />
          <span className={ui.grow} />
          {line.also.map((also) => (
            <span key={also.text} className={s.also} data-tone={also.tone}>
              <Swatch tone={also.tone} size={16} />
              <span className={ui.nowrap}>{also.text}</span>
            </span>
          ))}
        </div>
        <Cut className={cx(ui.sec, s.nowDetail)} text={detail} />
      </div>
    </section>
  );
}
