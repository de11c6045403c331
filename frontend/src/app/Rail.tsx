import { Link } from "@tanstack/react-router";
import { useLink } from "../api/stores";
import { useWords } from "../i18n";
import s from "./shell.module.css";

const VIEWS = [
  {
    to: "/overview",
    icon: "M4 3h4a1 1 0 0 1 1 1v4a1 1 0 0 1-1 1H4a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1zM12 3h4a1 1 0 0 1 1 1v4a1 1 0 0 1-1 1h-4a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1zM4 11h4a1 1 0 0 1 1 1v4a1 1 0 0 1-1 1H4a1 1 0 0 1-1-1v-4a1 1 0 0 1 1-1zM12 11h4a1 1 0 0 1 1 1v4a1 1 0 0 1-1 1h-4a1 1 0 0 1-1-1v-4a1 1 0 0 1 1-1z",
  },
  { to: "/timeline", icon: "M3 4.5h7M6 8.2h9M4.5 11.8h6M9 15.5h8" },
] as const;

/** Only the views that exist. */
export function Rail() {
  const words = useWords();
  const welcome = useLink((link) => link.welcome);
  return (
    <nav className={s.rail} aria-label={words.app.views}>
      {VIEWS.map(({ to, icon }) => (
        <Link
          key={to}
          to={to}
          search={((old: { job?: string }) => (old.job ? { job: old.job } : {})) as never}
          activeOptions={{ includeSearch: false }}
          className={s.view}
        >
          <svg viewBox="0 0 20 20" aria-hidden="true">
            <path d={icon} />
          </svg>
          {to === "/overview" ? words.app.overview : words.app.timeline}
        </Link>
      ))}
      <span className={s.gap} />
      {welcome ? (
        <div className={s.versions}>
          {words.app.versions(welcome.ray_version, welcome.version).map((line) => (
            <span key={line}>{line}</span>
          ))}
        </div>
      ) : null}
    </nav>
  );
}
