// What a view shows in its place while it has nothing else to show: it loads, there is no hub, there is no such job.
import type { ReactNode } from "react";
import { linkState, useLink } from "../api/stores";
import { useWords } from "../i18n";
import ui from "./ui.module.css";
import { Button, CopyCommand, EmptyState, useAfter } from "./widgets";

interface AloneProps {
  title: string;
  body?: string;
  testId: string;
  children?: ReactNode;
}

/** One panel in the place of a view. */
export function OnePanel({ testId, children }: { testId: string; children: ReactNode }) {
  return (
    <div className={ui.alone} data-testid={testId}>
      <div className={ui.panel}>{children}</div>
    </div>
  );
}

export function Alone({ title, body, testId, children }: AloneProps) {
  return (
    <OnePanel testId={testId}>
      <EmptyState title={title} body={body}>
        {children}
      </EmptyState>
    </OnePanel>
  );
}

/** Nothing has come, and as it looks nothing will for now. `known`: what the view lives on has come once. */
export const useNoHub = (known: boolean): boolean =>
  useLink((link) => !known && linkState(link, known) === "offline" && (link.stale || !link.online));

export function NoHub() {
  const { link: t } = useWords();
  const error = useLink((link) => link.error);
  const online = useLink((link) => link.online);
  return (
    <Alone
      title={online ? (error?.message ?? t.noHub) : t.browserOffline}
      body={error?.hint || t.noHubHint}
      testId="no-hub"
    >
      <CopyCommand command={t.doctorCommand} />
    </Alone>
  );
}

/** `wanted`: the job that was asked for and isn't known; undefined: there is none at all. */
export function NoJob({ wanted, onNewest }: { wanted: string | undefined; onNewest: () => void }) {
  const { job: t } = useWords();
  return wanted === undefined ? (
    <EmptyState title={t.emptyTitle} body={t.emptyBody}>
      <CopyCommand command={t.emptyCommand} />
    </EmptyState>
  ) : (
    <EmptyState title={t.unknown(wanted)}>
      <Button onClick={onNewest}>{t.showNewest}</Button>
    </EmptyState>
  );
}

/** The view's geometry in grey, after a moment: nothing for what comes at once. */
export function Loading({ className, children }: { className?: string; children: ReactNode }) {
  const late = useAfter(300);
  return late ? (
    <div className={className} aria-busy="true" data-testid="loading">
      {children}
    </div>
  ) : null;
}
