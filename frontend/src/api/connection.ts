// The live websocket: one per page, comes back by itself.
import { decode, encode } from "@msgpack/msgpack";
import { socketUrl } from "./base";
import { learnClock } from "./clock";
import { DEAD_AFTER_MS, PING_EVERY_MS, retryDelay, STALE_AFTER_MS } from "./schedule";
import { probe, signInToRay } from "./signin";
import { type SignIn, setStale, takePatch, useLink } from "./stores";
import { forgetToken, storedToken } from "./token";
import { type ClientMessage, type ErrorBody, type HubMessage, PROTOCOL, type Reply, type Topic } from "./types.gen";

/** Refusals that another credential mends. All others are told, and tried again. */
const MENDED_BY: Record<string, SignIn> = {
  wrong_token: "token",
  grant_expired: "token",
  grant_revoked: "token",
  session_ended: "token",
  ray_token_needed: "ray",
};

type Without<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;
/** What is answered by a Reply; its id is given here. */
export type Question = Without<Extract<ClientMessage, { id: number }>, "id">;

/** Why there is no answer: the hub's word, or null where the stream was lost on the way. */
export class NoAnswer extends Error {
  constructor(readonly body: ErrorBody | null) {
    super(body?.message ?? "stream lost");
  }
}

/** Unix ns as integers: as a plain number of that size they would go out as a float, which no field of the hub takes. */
const exact = (message: ClientMessage): object =>
  Object.fromEntries(
    Object.entries(message).map(([name, value]) => [
      name,
      name.endsWith("_ns") && typeof value === "number" ? BigInt(Math.round(value)) : value,
    ]),
  );

/** The hub ends the stream of who subscribes to what isn't theirs: the debugger's sessions are for viewers and above. */
const maySee = (topic: Topic): boolean => topic !== "debug" || useLink.getState().welcome?.role !== "anonymous";

interface Waiting {
  resolve: (reply: Reply) => void;
  reject: (why: NoAnswer) => void;
}

class Connection {
  private socket: WebSocket | null = null;
  private started = false;
  private attempt = 0;
  private retry: number | undefined;
  private lostAt = Date.now();
  private pingedAt: number | null = null;
  private lastPing = 0;
  private triedWithRay = "";
  private readonly topics = new Map<Topic, number>();
  private readonly waiting = new Map<number, Waiting>();
  private lastId = 0;

  start(): void {
    if (this.started) return;
    this.started = true;
    window.setInterval(() => this.watch(), 500);
    window.addEventListener("online", () => this.wake());
    window.addEventListener("offline", () => useLink.setState({ online: false }));
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "visible") this.wake();
    });
    this.open();
  }

  /** A topic flows while somebody wants it. */
  subscribe(topic: Topic): () => void {
    const wanted = this.topics.get(topic) ?? 0;
    this.topics.set(topic, wanted + 1);
    if (wanted === 0 && useLink.getState().phase === "live" && maySee(topic)) this.send({ type: "subscribe", topic });
    return () => {
      const left = (this.topics.get(topic) ?? 1) - 1;
      if (left > 0) this.topics.set(topic, left);
      else {
        this.topics.delete(topic);
        if (useLink.getState().phase === "live") this.send({ type: "unsubscribe", topic });
      }
    };
  }

  /** Asks the hub; rejects with NoAnswer when it says no, and when the stream is lost before it answers. */
  ask(question: Question): Promise<Reply> {
    if (useLink.getState().phase !== "live") return Promise.reject(new NoAnswer(null));
    const id = ++this.lastId;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.send({ ...question, id } as ClientMessage);
    });
  }

  /** After the credential changed: say hello anew. The rows stay until the next full patch. */
  reconnect(): void {
    this.drop();
    this.attempt = 0;
    useLink.setState({ signIn: null, error: null });
    this.open();
  }

  private open(): void {
    window.clearTimeout(this.retry);
    const socket = new WebSocket(socketUrl());
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    let opened = false;
    socket.onopen = () => {
      opened = true;
      this.send({ type: "hello", protocol: PROTOCOL, token: storedToken() });
    };
    socket.onmessage = (event) => {
      if (socket !== this.socket || !(event.data instanceof ArrayBuffer)) return;
      // Times are int64 nanoseconds: as numbers they lose what is below a microsecond, which no view shows.
      this.take(decode(event.data, { useBigInt64: false }) as HubMessage);
    };
    socket.onclose = () => {
      if (socket === this.socket) this.closed(opened);
    };
  }

  private take(message: HubMessage): void {
    useLink.setState({ heardAt: Date.now() });
    this.pingedAt = null;
    setStale(false);
    switch (message.type) {
      case "welcome":
        learnClock(message.time_ns);
        this.attempt = 0;
        useLink.setState({ phase: "live", welcome: message, error: null, signIn: null, online: true });
        for (const topic of this.topics.keys()) if (maySee(topic)) this.send({ type: "subscribe", topic });
        this.lastPing = Date.now() - PING_EVERY_MS + 1000; // after the first picture, which would be measured too
        break;
      case "patch":
        takePatch(message);
        break;
      case "reply": {
        const asked = this.waiting.get(message.id);
        this.waiting.delete(message.id);
        if (message.error) asked?.reject(new NoAnswer(message.error));
        else asked?.resolve(message);
        break;
      }
      case "pong":
        useLink.setState({ roundTripMs: Math.max(0, performance.now() - message.t) });
        break;
      case "refused": {
        const signIn = MENDED_BY[message.error.code];
        useLink.setState({ error: message.error, ...(signIn ? { signIn } : {}) });
        break;
      }
    }
  }

  private closed(opened: boolean): void {
    this.socket = null;
    this.giveUp();
    if (useLink.getState().phase === "live") this.lostAt = Date.now();
    useLink.setState((s) => ({ phase: s.phase === "live" ? "lost" : s.phase, roundTripMs: null }));
    if (useLink.getState().signIn) return; // waits for a credential
    if (!opened) void this.diagnose();
    this.retryLater();
  }

  private retryLater(): void {
    window.clearTimeout(this.retry);
    this.retry = window.setTimeout(() => this.open(), retryDelay(this.attempt++));
  }

  /** The browser doesn't say why a websocket failed; a plain request does. */
  private async diagnose(): Promise<void> {
    const found = await probe();
    if (useLink.getState().phase === "live") return;
    if (found.kind === "down") useLink.setState({ error: found.error });
    if (found.kind !== "ray_sign_in") return;
    this.drop();
    const token = storedToken();
    if (token && token !== this.triedWithRay) {
      this.triedWithRay = token; // a link's token may be Ray's own
      if ((await signInToRay(token)).ok) {
        forgetToken(); // Ray's cookie is the credential now
        this.reconnect();
        return;
      }
    }
    useLink.setState({ signIn: "ray" });
  }

  private wake(): void {
    useLink.setState({ online: true });
    if (useLink.getState().signIn) return;
    if (this.socket?.readyState === WebSocket.OPEN) this.ping();
    else if (this.socket?.readyState !== WebSocket.CONNECTING) {
      this.attempt = 0;
      this.open();
    }
  }

  private drop(): void {
    window.clearTimeout(this.retry);
    const socket = this.socket;
    this.socket = null;
    this.giveUp();
    socket?.close();
    this.pingedAt = null;
    if (useLink.getState().phase === "live") this.lostAt = Date.now();
    useLink.setState((s) => ({ phase: s.phase === "live" ? "lost" : s.phase, roundTripMs: null }));
  }

  private giveUp(): void {
    const lost = [...this.waiting.values()];
    this.waiting.clear();
    for (const { reject } of lost) reject(new NoAnswer(null));
  }

  private watch(): void {
    const now = Date.now();
    if (useLink.getState().phase !== "live") {
      setStale(now - this.lostAt > STALE_AFTER_MS);
      return;
    }
    if (this.pingedAt !== null) {
      const silent = now - this.pingedAt;
      if (silent > DEAD_AFTER_MS) {
        this.drop();
        this.lostAt = now - silent;
        this.open();
      } else if (silent > STALE_AFTER_MS) setStale(true);
    } else if (now - this.lastPing >= PING_EVERY_MS) this.ping();
  }

  private ping(): void {
    this.lastPing = Date.now();
    this.pingedAt ??= this.lastPing;
    this.send({ type: "ping", t: performance.now() });
  }

  private send(message: ClientMessage): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(encode(exact(message), { useBigInt64: true }));
  }
}

export const connection = new Connection();
