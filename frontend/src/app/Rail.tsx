import { Link } from "@tanstack/react-router";
import { useTable } from "../api/hooks";
import { useLink } from "../api/stores";
import { type Catalog, useWords } from "../i18n";
import ui from "../ui/ui.module.css";
import s from "./shell.module.css";

const VIEWS = [
  {
    to: "/overview",
    icon: "M4 3h4a1 1 0 0 1 1 1v4a1 1 0 0 1-1 1H4a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1zM12 3h4a1 1 0 0 1 1 1v4a1 1 0 0 1-1 1h-4a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1zM4 11h4a1 1 0 0 1 1 1v4a1 1 0 0 1-1 1H4a1 1 0 0 1-1-1v-4a1 1 0 0 1 1-1zM12 11h4a1 1 0 0 1 1 1v4a1 1 0 0 1-1 1h-4a1 1 0 0 1-1-1v-4a1 1 0 0 1 1-1z",
  },
  { to: "/timeline", icon: "M3 4.5h7M6 8.2h9M4.5 11.8h6M9 15.5h8" },
  {
    to: "/debugger",
    icon: "M7 6a3 3 0 0 1 6 0M6 8.5C6 7 7.8 6 10 6s4 1 4 2.5V12a4 4 0 0 1-8 0zM10 6v10M6 9 3 7.5M14 9l3-1.5M6 12H2.5M14 12h3.5M6.5 14.5 3.5 17M13.5 14.5l3 2.5",
  },
] as const;

const NAME: Record<(typeof VIEWS)[number]["to"], (words: Catalog) => string> = {
  "/overview": (words) => words.app.overview,
  "/timeline": (words) => words.app.timeline,
  "/debugger": (words) => words.app.debugger,
};

/** Only the views that exist. */
export function Rail() {
  const words = useWords();
  const welcome = useLink((link) => link.welcome);
  const paused = [...useTable("paused").values()].reduce((sum, site) => sum + site.members.length, 0);
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
          {NAME[to](words)}
          {to === "/debugger" && paused > 0 ? (
            <span className={s.count}>
              <span className={ui.badge} data-tone="paused" data-testid="rail-paused">
                {paused}
              </span>
            </span>
          ) : null}
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
