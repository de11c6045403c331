import { hubNow } from "../api/clock";
import { linkState, toggleFreeze, useCluster, useLink } from "../api/stores";
import { useWords } from "../i18n";
import { formatTime } from "../ui/format";
import { StateGlyph } from "../ui/Glyph";
import ui from "../ui/ui.module.css";
import { Button, cx } from "../ui/widgets";
import s from "./shell.module.css";

/** What makes the view other than the newest truth, said in one bar. */
export function Banners() {
  const words = useWords();
  const t = words.link;
  const frozenAt = useCluster((cluster) => cluster.frozenAt);
  const hasData = useCluster((cluster) => cluster.loaded.size > 0);
  const link = useLink();
  const state = linkState(link, hasData);
  const lost = hasData && state !== "live";
  const refusal = link.phase !== "live" && link.error && !link.signIn ? link.error : null;
  return (
    <>
      {lost ? (
        <div className={s.banner} data-tone="slow" role="alert" data-testid="stale-banner">
          <StateGlyph tone="slow" size={12} />
          <b>{t.lastData(formatTime(hubNow(link.heardAt ?? Date.now())))}</b>
          {link.online ? null : <span>{t.browserOffline}</span>}
          {refusal ? (
            <span className={ui.cut}>
              {refusal.message} {refusal.hint}
            </span>
          ) : null}
        </div>
      ) : null}
      {frozenAt === null ? null : (
        <div className={cx(s.banner, s.frozen)} role="status" data-testid="frozen-banner">
          <b>{t.frozenAt(formatTime(frozenAt))}</b>
          <span className={ui.dim}>{t.frozenNote}</span>
          <Button small onClick={toggleFreeze}>
            {t.goLive}
          </Button>
        </div>
      )}
    </>
  );
}
