import { rayRoot } from "../api/base";
import { linkState, toggleFreeze, useCluster, useLink } from "../api/stores";
import { useWords } from "../i18n";
import { Icon } from "../ui/Glyph";
import ui from "../ui/ui.module.css";
import { cx } from "../ui/widgets";
import { JobSelect } from "./JobSelect";
import { Mark } from "./Mark";
import s from "./shell.module.css";
import { ThemeMenu } from "./ThemeMenu";

export function TopBar({ onAccount, onHelp }: { onAccount: () => void; onHelp: () => void }) {
  const words = useWords();
  const role = useLink((link) => link.welcome?.role ?? null);
  return (
    <header className={s.top}>
      <div className={s.mark}>
        <Mark />
        <span>{words.app.mark[0]}</span>
        <span className={s.sep} aria-hidden="true">
          ▸
        </span>
        <span>{words.app.mark[1]}</span>
      </div>
      <span className={s.rule} />
      <JobSelect />
      <span className={ui.grow} />
      <FreezeSwitch />
      <LinkStatus />
      {role ? (
        <button
          type="button"
          className={s.role}
          data-role={role}
          data-testid="role-badge"
          title={words.role.may[role]}
          onClick={onAccount}
        >
          <Icon name="shield" size={12} />
          {words.role.names[role]}
        </button>
      ) : null}
      <ThemeMenu />
      <button
        type="button"
        className={cx(ui.control, ui.square)}
        aria-label={words.help.open}
        title={words.help.open}
        onClick={onHelp}
      >
        <Icon name="help" />
      </button>
      <span className={s.rule} />
      <a className={s.out} href={rayRoot()}>
        {words.app.rayDashboard} <Icon name="external" size={13} />
      </a>
    </header>
  );
}

function FreezeSwitch() {
  const { link: t } = useWords();
  const frozen = useCluster((cluster) => cluster.frozenAt !== null);
  const hasData = useCluster((cluster) => cluster.loaded.size > 0);
  const title = frozen ? t.thaw : t.freeze;
  if (!hasData) return null;
  return (
    <button
      type="button"
      className={ui.control}
      data-testid="freeze"
      data-frozen={frozen || undefined}
      aria-pressed={frozen}
      aria-label={title}
      title={title}
      onClick={toggleFreeze}
    >
      <Icon name={frozen ? "play" : "pause"} size={14} />
      {frozen ? t.frozen : t.freezeShort}
    </button>
  );
}

function LinkStatus() {
  const { link: t } = useWords();
  const hasData = useCluster((cluster) => cluster.loaded.size > 0);
  const link = useLink();
  const state = linkState(link, hasData);
  const ms = link.roundTripMs;
  const word =
    state === "offline" ? (link.stale || !link.online ? t.offline : t.connecting) : state === "stale" ? t.lost : t.live;
  return (
    <span
      className={s.link}
      data-testid="connection"
      data-state={state}
      data-hub={link.phase === "live" ? link.welcome?.hub_id : undefined}
      role="status"
      aria-label={word}
      title={state === "live" ? t.liveTitle : t.lostTitle}
    >
      <span className={s.dot} />
      {state === "live" && ms !== null ? t.roundTrip(ms) : word}
    </span>
  );
}
