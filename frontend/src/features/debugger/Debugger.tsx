// The debugger's page: places on the left, source in the middle, values on the right, console below. What it shows beside
// the rows of the stream lies in state.ts; looking.ts fetches it, actions.ts acts.
import { type CSSProperties, type ReactNode, useEffect, useState } from "react";
import { useLoaded, useTopic } from "../../api/hooks";
import { useLink } from "../../api/stores";
import { useWords } from "../../i18n";
import { Alone, Loading, NoHub, useNoHub } from "../../ui/states";
import { Bone, CopyCommand } from "../../ui/widgets";
import { Bars } from "./Bars";
import { ConsolePane } from "./console/ConsolePane";
import { useHeight } from "./console/height";
import s from "./debugger.module.css";
import { useDebuggerKeys } from "./keys";
import { Breakpoints } from "./left/Breakpoints";
import { Places } from "./left/Places";
import { Sessions } from "./left/Sessions";
import { useLooking } from "./looking";
import { Nowhere } from "./Nowhere";
import { Inspect } from "./right/Inspect";
import { Stack } from "./right/Stack";
import { Variables } from "./right/Variables";
import { Watches } from "./right/Watches";
import { Said } from "./Said";
import { useRight, useSession } from "./session";
import { FileOpener } from "./source/FileOpener";
import { SourcePane } from "./source/SourcePane";
import { Toolbar } from "./Toolbar";
import { usePlaceInUrl } from "./useUrl";

export function Debugger() {
  useTopic("topology");
  useTopic("paused");
  useTopic("debug");
  usePlaceInUrl();
  const right = useRight();
  const known = useLoaded("paused");
  const loaded = useLoaded("debug") && known;
  const noHub = useNoHub(known);
  const welcomed = useLink((link) => link.welcome !== null);
  const words = useWords();
  if (noHub) return <NoHub />;
  if (welcomed && right === "none")
    return (
      <Alone title={words.debugger.title} body={words.debugger.signIn} testId="debugger-alone">
        <CopyCommand command={words.debugger.signInCommand} />
      </Alone>
    );
  return loaded ? <Page /> : <Bones />;
}

function Page() {
  const words = useWords();
  const session = useSession();
  const [opener, setOpener] = useState(false);
  useLooking(session);
  // The editor is a chunk of its own: on its way before the first file is.
  useEffect(() => void import("./source/CodeView"), []);
  useDebuggerKeys({ onOpen: () => setOpener(true) });
  return (
    <section className={s.page} aria-label={words.debugger.title} data-testid="debugger" data-state={session?.state}>
      <Toolbar session={session} />
      <Bars session={session} />
      <Panes ended={session?.state === "ended"}>
        <aside className={s.left}>
          <Places />
          <Sessions />
          {session ? <Breakpoints session={session} /> : null}
        </aside>
        {session && session.state !== "failed" && session.state !== "attaching" ? (
          <>
            <SourcePane session={session} onOpen={() => setOpener(true)} />
            <aside className={s.right}>
              <Stack session={session} />
              <Variables session={session} />
              <Watches session={session} />
              <Inspect session={session} />
            </aside>
            <ConsolePane session={session} />
          </>
        ) : (
          <Nowhere session={session} />
        )}
      </Panes>
      {session ? <FileOpener session={session} open={opener} onClose={() => setOpener(false)} /> : null}
      <Said session={session} />
    </section>
  );
}

/** As high a console as is wanted; what is in the panes isn't drawn anew for it. */
function Panes({ ended, children }: { ended: boolean; children: ReactNode }) {
  const height = useHeight((state) => state.wanted);
  const style = height === null ? undefined : ({ "--console": `${height}px` } as CSSProperties);
  return (
    <div className={s.panes} style={style} data-ended={ended || undefined}>
      {children}
    </div>
  );
}

/** The panes keep their places. */
function Bones() {
  return (
    <Loading className={s.page}>
      <div className={s.toolbar}>
        <Bone width={260} height={26} />
      </div>
      <div className={s.panes}>
        <div className={s.left} />
        <div className={s.bones}>
          {Array.from({ length: 12 }, (_, i) => (
            <Bone key={i} width={`${30 + ((i * 53) % 50)}%`} height={11} />
          ))}
        </div>
        <div className={s.bones}>
          {Array.from({ length: 5 }, (_, i) => (
            <Bone key={i} width={`${40 + ((i * 37) % 50)}%`} height={11} />
          ))}
        </div>
      </div>
    </Loading>
  );
}
