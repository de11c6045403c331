// The token of this browser. It comes in the URL's fragment (which no server sees), leaves the address bar at once, and
// stays for this tab, or for this browser where the user asked for that.
const KEY = "raydebug.token";

export interface FragmentToken {
  token: string;
  /** The hash to go on to, with its `#`. */
  hash: string;
}

/** Takes `#token=…` or `#token=…&to=/view?…` apart; null where the fragment holds no token. */
export function tokenFromFragment(fragment: string): FragmentToken | null {
  const text = fragment.replace(/^#/, "");
  if (!text.startsWith("token=")) return null;
  const rest = text.slice("token=".length);
  const split = rest.indexOf("&to=");
  const token = decode(split < 0 ? (rest.split("&")[0] ?? "") : rest.slice(0, split)).trim();
  let to = split < 0 ? "" : rest.slice(split + "&to=".length);
  if (/^%2f/i.test(to)) to = decode(to);
  return { token, hash: to.startsWith("/") ? `#${to}` : "#/" };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function stores(): Storage[] {
  try {
    return [window.sessionStorage, window.localStorage];
  } catch {
    return []; // storage is off in this browser: the token lives as long as the page
  }
}

let memory: string | null = null;

export function storedToken(): string | null {
  for (const store of stores()) {
    const token = store.getItem(KEY);
    if (token) return token;
  }
  return memory;
}

export function keepToken(token: string, remember: boolean): void {
  forgetToken();
  memory = token;
  const [session, local] = stores();
  try {
    (remember ? local : session)?.setItem(KEY, token);
  } catch {
    // full or forbidden: memory has it
  }
}

export function forgetToken(): void {
  memory = null;
  for (const store of stores()) store.removeItem(KEY);
}

/** Takes the token out of the address bar and goes on to the view asked for. True where there was one. */
export function takeTokenFromAddress(): boolean {
  const found = tokenFromFragment(window.location.hash);
  if (!found) return false;
  if (found.token) keepToken(found.token, false);
  window.history.replaceState(null, "", window.location.pathname + window.location.search + found.hash);
  return true;
}
