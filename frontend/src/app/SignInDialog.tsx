import { type FormEvent, useEffect, useRef, useState } from "react";
import { connection } from "../api/connection";
import { type Checked, checkToken, signInToRay } from "../api/signin";
import { type SignIn, useLink } from "../api/stores";
import { forgetToken, keepToken, storedToken, tokenFromFragment } from "../api/token";
import { type Catalog, useWords } from "../i18n";
import { Dialog } from "../ui/Dialog";
import ui from "../ui/ui.module.css";
import { Button, CopyCommand } from "../ui/widgets";
import s from "./shell.module.css";

/** Opened by the role badge; opens by itself where nothing can be seen without a credential. */
export function SignInDialog({ open, onClose }: { open: boolean; onClose: () => void }) {
  const words = useWords();
  const needed = useLink((link) => link.signIn);
  const welcome = useLink((link) => link.welcome);
  useEffect(() => {
    if (needed) onClose(); // what was opened by hand gives way; it doesn't come back after signing in
  }, [needed, onClose]);
  if (!open && !needed) return null;
  const t = words.signIn;
  const title = needed === "ray" ? t.rayTitle : needed || welcome?.role !== "debugger" ? t.title : words.role.change;
  return (
    <Dialog title={title} open onClose={needed ? undefined : onClose} testId="sign-in">
      {needed || !welcome ? null : (
        <p className={s.may}>
          <b>{words.role.names[welcome.role]}.</b> {words.role.may[welcome.role]}{" "}
          {welcome.how === "none" ? null : (
            <span className={ui.dim}>
              {words.role.knownBy}: {words.role.how(welcome.how)}.
            </span>
          )}
        </p>
      )}
      {needed === "ray" ? <p className={s.may}>{t.rayBody}</p> : null}
      <p className={s.label}>{needed === "ray" ? t.rayCommandLabel : t.linkLabel}</p>
      <CopyCommand command={needed === "ray" ? t.rayCommand : t.linkCommand} />
      <TokenForm needed={needed} onDone={onClose} />
    </Dialog>
  );
}

function TokenForm({ needed, onDone }: { needed: SignIn | null; onDone: () => void }) {
  const words = useWords();
  const t = words.signIn;
  const [text, setText] = useState("");
  const [remember, setRemember] = useState(false);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState(needed === "token" && storedToken() ? t.stored : "");
  const ray = needed === "ray";
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.focus(), []);

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const token = tokenIn(text);
    if (token === "") return setProblem(t.empty);
    setBusy(true);
    const checked = await (ray ? signInToRay(token) : checkToken(token));
    setBusy(false);
    if (!checked.ok) return setProblem(problemText(checked, ray, words));
    if (!ray) keepToken(token, remember);
    onDone();
    connection.reconnect();
  };
  const leave = () => {
    forgetToken();
    onDone();
    connection.reconnect();
  };
  return (
    <form className={s.form} onSubmit={submit}>
      <label className={s.label} htmlFor="raydebug-token">
        {t.tokenLabel}
      </label>
      <input
        ref={input}
        id="raydebug-token"
        className={s.input}
        type="password"
        autoComplete="off"
        spellCheck={false}
        placeholder={ray ? undefined : t.tokenHint}
        value={text}
        aria-invalid={problem !== ""}
        aria-describedby="raydebug-token-problem"
        onChange={(event) => {
          setText(event.target.value);
          setProblem("");
        }}
      />
      <p id="raydebug-token-problem" className={s.problem} role="alert">
        {problem}
      </p>
      <div className={s.actions}>
        {ray ? (
          <span className={ui.grow} />
        ) : (
          <label className={s.remember}>
            <input type="checkbox" checked={remember} onChange={(event) => setRemember(event.target.checked)} />
            {t.remember}
          </label>
        )}
        {!ray && storedToken() ? <Button onClick={leave}>{needed ? t.goOn : t.signOut}</Button> : null}
        <Button kind="primary" type="submit" disabled={busy}>
          {busy ? t.checking : t.submit}
        </Button>
      </div>
    </form>
  );
}

/** People paste the whole link: the token is in its fragment. */
function tokenIn(text: string): string {
  const trimmed = text.trim();
  const hash = trimmed.indexOf("#token=");
  return hash < 0 ? trimmed : (tokenFromFragment(trimmed.slice(hash))?.token ?? "");
}

function problemText(checked: Extract<Checked, { ok: false }>, ray: boolean, words: Catalog): string {
  const t = words.signIn;
  const { code, message, hint } = checked.error;
  if (code === "unreachable") return t.unreachable;
  if (code === "wrong_token" || code === "forbidden") return ray ? t.wrongRay : t.wrong;
  return [message, hint].filter(Boolean).join(" ") || t.unreachable;
}
