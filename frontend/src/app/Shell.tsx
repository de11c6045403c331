import { Outlet } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { useTable, useTopic } from "../api/hooks";
import { useCluster, useLink } from "../api/stores";
import { useWords } from "../i18n";
import ui from "../ui/ui.module.css";
import { Banners } from "./Banners";
import { HelpDialog } from "./HelpDialog";
import { Rail } from "./Rail";
import { SignInDialog } from "./SignInDialog";
import s from "./shell.module.css";
import { TopBar } from "./TopBar";
import { useKeys } from "./useKeys";

/** What is around every view: top bar, rail, banners, dialogs, keys. */
export function Shell() {
  const words = useWords();
  useTopic("topology");
  useTopic("paused");
  const [help, setHelp] = useState(false);
  const [account, setAccount] = useState(false);
  useKeys({ onHelp: () => setHelp(true), onEscape: () => setHelp(false) });

  const paused = useTable("paused");
  const count = [...paused.values()].reduce((sum, site) => sum + site.members.length, 0);
  useEffect(() => {
    document.title = words.app.title(count);
  }, [count, words]);

  const hasData = useCluster((cluster) => cluster.loaded.size > 0);
  const stale = useLink((link) => link.stale) && hasData;
  const frozen = useCluster((cluster) => cluster.frozenAt !== null);
  return (
    <div className={s.shell}>
      <button type="button" className={s.skip} onClick={() => document.getElementById("main")?.focus()}>
        {words.app.skip}
      </button>
      <TopBar onAccount={() => setAccount(true)} onHelp={() => setHelp(true)} />
      <Rail />
      <main id="main" tabIndex={-1} className={s.main}>
        <Banners />
        <div className={s.content} data-stale={stale || undefined} data-frozen={frozen || undefined}>
          <Outlet />
        </div>
      </main>
      <HelpDialog open={help} onClose={() => setHelp(false)} />
      <SignInDialog open={account} onClose={() => setAccount(false)} />
      <span className={ui.hidden} role="status">
        {words.app.title(count)}
      </span>
    </div>
  );
}
