// The two ways in: raydebug's token, and Ray's own token where Ray's token mode is on.
import { apiUrl, rayRoot } from "./base";
import { type ErrorBody, TOKEN_HEADER } from "./types.gen";

export type Checked = { ok: true } | { ok: false; error: ErrorBody };

const failed = (code: string, message: string, hint = ""): Checked => ({ ok: false, error: { code, message, hint } });

/** What stands between us and the hub, when its socket doesn't open. */
export type Probe = { kind: "up" } | { kind: "ray_sign_in" } | { kind: "down"; error: ErrorBody | null };

export async function probe(): Promise<Probe> {
  let answer: Response;
  try {
    answer = await fetch(apiUrl("health"), { cache: "no-store" });
  } catch {
    return { kind: "down", error: null };
  }
  if (answer.ok) return { kind: "up" };
  const error = await errorOf(answer);
  // Ray's middleware answers in plain text before the hub sees the request; the hub answers in JSON.
  if (!error && (answer.status === 401 || answer.status === 403)) return { kind: "ray_sign_in" };
  return { kind: "down", error };
}

async function errorOf(answer: Response): Promise<ErrorBody | null> {
  try {
    const body = await answer.clone().json();
    return typeof body?.error?.code === "string" ? { hint: "", ...body.error } : null;
  } catch {
    return null;
  }
}

/** Whether the hub takes this token, asked without giving up the stream that runs. */
export async function checkToken(token: string): Promise<Checked> {
  let answer: Response;
  try {
    answer = await fetch(apiUrl("whoami"), { headers: { [TOKEN_HEADER]: token }, cache: "no-store" });
  } catch {
    return failed("unreachable", "");
  }
  if (answer.ok || answer.status === 404) return { ok: true };
  const error = await errorOf(answer);
  return error ? { ok: false, error } : failed(answer.status === 403 ? "forbidden" : "unreachable", "");
}

/** Ray's own sign-in: it checks the token and answers with an HttpOnly cookie for the whole dashboard. */
export async function signInToRay(token: string): Promise<Checked> {
  let answer: Response;
  try {
    answer = await fetch(`${rayRoot()}api/authenticate`, {
      method: "POST",
      headers: { Authorization: `Bearer ${token}` },
      credentials: "same-origin",
      cache: "no-store",
    });
  } catch {
    return failed("unreachable", "");
  }
  if (answer.ok) return { ok: true };
  return failed(answer.status === 403 ? "forbidden" : "ray_refused", await answer.text().catch(() => ""));
}
