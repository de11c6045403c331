import { decode, encode } from "@msgpack/msgpack";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { actor, NOW_NS, patch } from "../../test/rows";
import { type ClientMessage, type HubMessage, PROTOCOL } from "./types.gen";

class FakeSocket {
  static all: FakeSocket[] = [];
  static OPEN = 1;
  static CONNECTING = 0;
  readyState = 0;
  binaryType = "";
  sent: ClientMessage[] = [];
  raw: Uint8Array[] = [];
  onopen: () => void = () => undefined;
  onmessage: (event: { data: ArrayBuffer }) => void = () => undefined;
  onclose: () => void = () => undefined;
  constructor(readonly url: string) {
    FakeSocket.all.push(this);
  }
  send(data: Uint8Array) {
    this.raw.push(data);
    this.sent.push(decode(data) as ClientMessage);
  }
  close() {
    this.readyState = 3;
  }
  open() {
    this.readyState = 1;
    this.onopen();
  }
  say(message: HubMessage) {
    this.onmessage({ data: encode(message).slice().buffer as ArrayBuffer });
  }
  lose() {
    this.readyState = 3;
    this.onclose();
  }
}

const welcome: HubMessage = {
  type: "welcome",
  protocol: PROTOCOL,
  version: "0.1.0",
  ray_version: "2.60.0",
  role: "anonymous",
  how: "none",
  hub_id: "h",
  session_name: "s",
  time_ns: NOW_NS,
};
const last = () => FakeSocket.all.at(-1) as FakeSocket;

async function start() {
  const { connection } = await import("./connection");
  const { useLink, useCluster } = await import("./stores");
  connection.subscribe("topology");
  connection.start();
  return { connection, useLink, useCluster };
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.resetModules();
  FakeSocket.all = [];
  window.history.replaceState(null, "", "/proxy/debug");
  vi.stubGlobal("WebSocket", FakeSocket);
  vi.stubGlobal(
    "fetch",
    vi.fn(async () => new Response("Unauthorized: Missing authentication token", { status: 401 })),
  );
});
afterEach(() => {
  vi.clearAllTimers();
  vi.unstubAllGlobals();
});

it("says hello, then subscribes to what is wanted, and pings", async () => {
  const { useLink, useCluster } = await start();
  expect(last().url).toMatch(/^ws:.*\/proxy\/debug\/ws$/);
  last().open();
  expect(last().sent).toEqual([{ type: "hello", protocol: PROTOCOL, token: null }]);
  last().say(welcome);
  expect(last().sent[1]).toEqual({ type: "subscribe", topic: "topology" });
  last().say(patch("topology", true, { actors: { set: [actor("a")], drop: [] } }));
  expect(useCluster.getState().rows.actors.size).toBe(1);
  vi.advanceTimersByTime(1500);
  const ping = last().sent[2];
  expect(ping?.type).toBe("ping");
  vi.advanceTimersByTime(20);
  if (ping?.type === "ping") last().say({ type: "pong", t: ping.t });
  expect(useLink.getState().roundTripMs).toBeGreaterThanOrEqual(0);
});

it("comes back by itself, keeps the rows, and is stale after 3 s", async () => {
  const { useLink, useCluster } = await start();
  last().open();
  last().say(welcome);
  last().say(patch("topology", true, { actors: { set: [actor("a")], drop: [] } }));
  last().lose();
  expect(useLink.getState()).toMatchObject({ phase: "lost", stale: false });
  vi.advanceTimersByTime(300);
  expect(FakeSocket.all.length).toBe(2);
  vi.advanceTimersByTime(3500);
  expect(useLink.getState().stale).toBe(true);
  expect(useCluster.getState().rows.actors.size).toBe(1);
  last().open();
  last().say(welcome);
  expect(useLink.getState()).toMatchObject({ phase: "live", stale: false });
  expect(last().sent.map((m) => m.type)).toEqual(["hello", "subscribe"]);
});

it("takes a silent socket for lost, then for dead", async () => {
  const { useLink } = await start();
  last().open();
  last().say(welcome);
  vi.advanceTimersByTime(5500);
  expect(useLink.getState().stale).toBe(true);
  vi.advanceTimersByTime(8000);
  expect(FakeSocket.all.length).toBe(2);
});

it("waits for a credential when it is refused", async () => {
  const { useLink, connection } = await start();
  last().open();
  last().say({ type: "refused", error: { code: "wrong_token", message: "The token is wrong.", hint: "" } });
  last().lose();
  vi.advanceTimersByTime(10_000);
  expect(FakeSocket.all.length).toBe(1);
  expect(useLink.getState().signIn).toBe("token");
  connection.reconnect();
  expect(FakeSocket.all.length).toBe(2);
});

it("asks for Ray's token where Ray refuses before the hub sees anything", async () => {
  const { useLink } = await start();
  last().lose();
  await vi.advanceTimersByTimeAsync(100);
  expect(useLink.getState().signIn).toBe("ray");
});

it("asks questions: each gets its own answer, whole nanoseconds go out as integers", async () => {
  const { connection } = await start();
  const early = connection.ask({ type: "query_tasks", job_id: "01" });
  await expect(early).rejects.toThrow("stream lost");
  last().open();
  last().say(welcome);
  const first = connection.ask({ type: "query_tasks", job_id: "01", after_ns: NOW_NS });
  const second = connection.ask({ type: "query_tasks", job_id: "02" });
  const sent = last().sent.filter((m) => m.type === "query_tasks");
  expect(sent.map((m) => m.job_id)).toEqual(["01", "02"]);
  // 0xcf: an integer of 64 bits; 0xcb would be a float, which the hub refuses.
  const raw = last().raw.at(-2) as Uint8Array;
  const at = String.fromCharCode(...raw).indexOf("after_ns") + "after_ns".length;
  expect(raw[at]).toBe(0xcf);
  const reply = {
    type: "reply",
    error: null,
    grants: null,
    made: null,
    marks: null,
    tasks: null,
    debug: null,
  } as const;
  last().say({ ...reply, id: sent[1]?.id ?? 0, tasks: { total: 2 } as never });
  last().say({ ...reply, id: sent[0]?.id ?? 0, error: { code: "unknown_job", message: "No such job.", hint: "" } });
  expect((await second).tasks?.total).toBe(2);
  await expect(first).rejects.toMatchObject({ body: { code: "unknown_job" } });
});

it("leaves no question without an end when the stream is lost", async () => {
  const { connection } = await start();
  last().open();
  last().say(welcome);
  const asked = connection.ask({ type: "query_tasks", job_id: "01" });
  last().lose();
  await expect(asked).rejects.toMatchObject({ body: null });
});
