/** Where the app is mounted: everything up to and including `/debug`, so that it also works behind a proxy's prefix. */
export function mountPoint(pathname: string): string {
  const found = /^(.*\/debug)(?:\/|$)/.exec(pathname);
  return found?.[1] ?? "/debug";
}

export const base = (): string => mountPoint(window.location.pathname);

/** Ray's dashboard, which serves us: the mount point without `/debug`; ends in a slash. */
export const rayRoot = (): string => base().replace(/debug$/, "");

export function socketUrl(): string {
  const url = new URL(`${base()}/ws`, window.location.href);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  return url.href;
}

export const apiUrl = (path: string): string => `${base()}/api/v1/${path}`;
