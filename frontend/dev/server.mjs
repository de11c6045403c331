// A tool for developing the page: serves the built page and a made-up live stream. No part of the product.
//
//   node dev/server.mjs [port]      http://localhost:5175/SCENE/debug, SCENE: demo verl large nested empty, `dense` (its
//                                   timeline: 100,000 tasks), plus `refuse` (token needed), `ray` (Ray's token mode, token "ray"), `silent` (no hub)
//
// The token "debugger" signs in as debugger. POST /SCENE/drop cuts the streams for 8 s.
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { decode, encode } from "@msgpack/msgpack";
import { WebSocketServer } from "ws";
import { MadeUpDebugger } from "./debug.mjs";
import { SCENES } from "./rows.mjs";
import { DENSE_ROWS, timelineOf } from "./timeline.mjs";

const STATIC = join(import.meta.dirname, "../../backend/raydebug/static");
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };
const CSP =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'";
const port = Number(process.argv[2] ?? 5175);
const cutUntil = new Map();
let rayCookie = false;
SCENES.dense = DENSE_ROWS;
const STARTED = Date.now() * 1e6;
const timelines = new Map();
const timeline = (scene, rows) => {
  if (!timelines.has(scene)) timelines.set(scene, timelineOf(scene, rows, STARTED));
  return timelines.get(scene);
};

const debuggers = new Map();
/** One for each scene, so that a reload comes back to its sessions. */
const debuggerOf = (scene, rows) => {
  if (!debuggers.has(scene)) {
    const tell = (set) => {
      for (const socket of sockets.clients) if (socket.scene === scene) socket.tellSessions?.(set);
    };
    debuggers.set(scene, new MadeUpDebugger(rows, tell));
  }
  return debuggers.get(scene);
};

const json = (res, status, body) => {
  res.writeHead(status, { "content-type": "application/json" });
  res.end(JSON.stringify(body));
};

async function file(res, path) {
  try {
    const body = await readFile(join(STATIC, normalize(`/${path}`)));
    res.writeHead(200, {
      "content-type": TYPES[extname(path)] ?? "application/octet-stream",
      "content-security-policy": CSP,
    });
    res.end(body);
  } catch {
    res.writeHead(404).end("not found");
  }
}

const server = createServer(async (req, res) => {
  const { pathname } = new URL(req.url, "http://x");
  const scene = pathname.split("/")[1];
  if (pathname.startsWith("/debug/assets/")) return file(res, pathname.slice("/debug/".length));
  if (pathname.endsWith("/debug")) return file(res, "index.html");
  if (pathname.endsWith("/drop")) {
    cutUntil.set(scene, Date.now() + 8000);
    for (const socket of sockets.clients) if (socket.scene === scene) socket.terminate();
    return res.end("cut");
  }
  if (pathname.endsWith("/api/authenticate")) {
    rayCookie = req.headers.authorization === "Bearer ray";
    res.writeHead(rayCookie ? 200 : 403).end(rayCookie ? "{}" : "Forbidden: Invalid authentication token");
    return;
  }
  if (scene === "ray" && !rayCookie) return res.writeHead(401).end("Unauthorized: Missing authentication token");
  if (pathname.endsWith("/whoami")) {
    const token = req.headers["x-raydebug-token"];
    if (token && token !== "debugger")
      return json(res, 403, { error: { code: "forbidden", message: "unknown token", hint: "" } });
    return json(res, 200, { role: token ? "debugger" : "anonymous", how: token ? "token" : "none", name: null });
  }
  if (scene === "silent")
    return json(res, 502, {
      error: { code: "hub_down", message: "The hub isn't running", hint: "Its log is logs/raydebug-hub.log." },
    });
  return json(res, 200, { status: "ok" });
});

const sockets = new WebSocketServer({ noServer: true });
server.on("upgrade", (req, socket, head) => {
  const scene = req.url.split("/")[1];
  if (scene === "silent" || (scene === "ray" && !rayCookie) || (cutUntil.get(scene) ?? 0) > Date.now())
    return socket.destroy();
  sockets.handleUpgrade(req, socket, head, (ws) => serve(ws, scene));
});

const REPLY = { type: "reply", error: null, grants: null, made: null, marks: null, tasks: null, debug: null };
const asSet = (tables) => Object.fromEntries(Object.entries(tables).map(([name, set]) => [name, { set, drop: [] }]));

function serve(ws, scene) {
  ws.scene = scene;
  const rows = (SCENES[scene] ?? SCENES.demo)();
  const say = (message) => ws.send(encode(message));
  const time = () => Date.now() * 1e6;
  const held = () => timeline(scene, rows);
  const topics = new Set();
  const made = debuggerOf(scene, rows);
  ws.tellSessions = (set) => topics.has("debug") && patch("debug", false, asSet({ sessions: set }));
  const debug = async ({ id, worker_id, command, arguments: args }) => {
    try {
      say({ ...REPLY, id, debug: await made.call(worker_id, command, args) });
    } catch (error) {
      say({ ...REPLY, id, error: error.body ?? { code: "internal", message: String(error), hint: "" } });
    }
  };
  let version = 0;
  const patch = (topic, full, tables) =>
    say({ type: "patch", topic, version: ++version, full, time_ns: time(), tables });
  ws.on("message", (data) => {
    const message = decode(data);
    if (message.type === "hello") {
      const wrong = message.token && message.token !== "debugger";
      if (wrong || (scene === "refuse" && !message.token)) {
        say({
          type: "refused",
          error: { code: wrong ? "forbidden" : "unauthenticated", message: "A token is needed", hint: "" },
        });
        return ws.close();
      }
      say({
        type: "welcome",
        protocol: 1,
        version: "0.1.0",
        ray_version: "2.60.0",
        role: message.token ? "debugger" : "anonymous",
        how: message.token ? "token" : "none",
        hub_id: "h1",
        session_name: "session",
        time_ns: time(),
      });
    } else if (message.type === "subscribe") {
      topics.add(message.topic);
      const names = message.topic === "paused" ? ["paused"] : ["nodes", "jobs", "groups", "actors", "sources"];
      const full =
        message.topic === "timeline"
          ? held().tables()
          : message.topic === "debug"
            ? { sessions: [...made.sessions.values()] }
            : Object.fromEntries(names.map((n) => [n, rows[n]]));
      patch(message.topic, true, asSet(full));
    } else if (message.type === "unsubscribe") topics.delete(message.topic);
    else if (message.type === "ping") say({ type: "pong", t: message.t });
    else if (message.type === "query_timeline") say({ ...REPLY, id: message.id, marks: held().marks(message) });
    else if (message.type === "query_tasks") say({ ...REPLY, id: message.id, tasks: held().tasks(message) });
    else if (message.type === "debug") void debug(message);
  });
  // A little life: some waiting ranks run, some running ones wait.
  const timer = setInterval(() => {
    if (!topics.has("topology")) return;
    const set = rows.actors
      .filter((a) => a.state === "running" && Math.random() < 0.02)
      .map((a) => Object.assign(a, { since_ns: time() }));
    if (set.length > 0) patch("topology", false, { actors: { set, drop: [] } });
  }, 1000);
  const grows = setInterval(() => {
    if (topics.has("timeline"))
      patch("timeline", false, asSet({ timeline_jobs: [held().jobRow()], steps: held().steps().slice(-2) }));
  }, 250);
  ws.on("close", () => {
    clearInterval(timer);
    clearInterval(grows);
  });
}

server.listen(port, "127.0.0.1", () => console.log(`http://localhost:${port}/verl/debug`));
