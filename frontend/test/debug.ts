// Rows of the debugger for tests, and the hub's end of it: the made-up debugger that the page is developed with.
import { act } from "@testing-library/react";
import { vi } from "vitest";
// @ts-expect-error: a tool in plain JavaScript
import { MadeUpDebugger } from "../dev/debug.mjs";
import { connection, NoAnswer } from "../src/api/connection";
import { takePatch, useLink } from "../src/api/stores";
import type {
  Breakpoint,
  DebugSession,
  DebugThread,
  Frame,
  PausedSite,
  Reply,
  Role,
  Variable,
  Welcome,
} from "../src/api/types.gen";
import { NOW_NS, patch } from "./rows";

export const debugThread = (threadId: number, over: Partial<DebugThread> = {}): DebugThread => ({
  threadId,
  name: `Thread-${threadId}`,
  state: "running",
  reason: null,
  text: null,
  stop: 0,
  file: null,
  line: null,
  function: null,
  task_id: null,
  since_ns: null,
  busy: null,
  called: false,
  call_line: null,
  unwound: false,
  first: false,
  os_thread_id: null,
  ...over,
});

export const debugSession = (over: Partial<DebugSession> = {}): DebugSession => ({
  worker_id: "w-a",
  worker_type: "worker",
  job_id: "01",
  actor_id: "a",
  node_id: "n1",
  pid: 100,
  group: null,
  rank: null,
  state: "running",
  note: null,
  held_by: null,
  keeper: true,
  python: "3.11.9",
  debugpy: "1.8.22",
  attached_ns: NOW_NS,
  attached_by: "me",
  post_mortem: false,
  tracing: false,
  lost_ns: null,
  threads: [],
  breakpoints: [],
  functions: [],
  types: [],
  filters: [],
  available_filters: [],
  evaluations: [],
  console_end: 0,
  messages_end: 0,
  capabilities: [],
  ...over,
});

export const breakpoint = (line: number, over: Partial<Breakpoint> = {}): Breakpoint => ({
  path: "/srv/a.py",
  line,
  condition: null,
  hitCondition: null,
  logMessage: null,
  enabled: true,
  verified: true,
  message: null,
  hits: 0,
  number: 0,
  ...over,
});

export const frame = (id: number, over: Partial<Frame> = {}): Frame => ({
  id,
  name: `f${id}`,
  path: "/srv/a.py",
  line: id,
  column: 0,
  subtle: false,
  rebuilt: false,
  ...over,
});

export const variable = (name: string, over: Partial<Variable> = {}): Variable => ({
  name,
  value: "1",
  type: "int",
  ...over,
});

const welcome = (role: Role): Welcome => ({
  type: "welcome",
  protocol: 1,
  version: "0.1.0",
  ray_version: "2.60.0",
  role,
  how: "token",
  hub_id: "h",
  session_name: "s",
  time_ns: NOW_NS,
});

const REPLY: Reply = {
  type: "reply",
  id: 0,
  error: null,
  grants: null,
  made: null,
  marks: null,
  tasks: null,
  debug: null,
};

interface Asked {
  worker: string;
  command: string;
  args: Record<string, unknown>;
}

let current: DebugHub | null = null;

/** Signs in, answers `connection.ask`, and sends the rows of sessions as the stream would. */
export class DebugHub {
  readonly made: {
    asked: Asked[];
    sessions: Map<string, DebugSession>;
    put: (worker: string, over: object) => void;
    deep: number;
  };
  /** Holds back the answers to these commands until `flush`. */
  slow = new Set<string>();
  private due: (() => void)[] = [];

  constructor(sites: PausedSite[], role: Role = "debugger") {
    useLink.setState({ phase: "live", welcome: welcome(role) });
    current = this;
    // A step that a test left behind ends in the next one, which has a hub of its own.
    const tell = (set: DebugSession[]) => {
      if (current === this) act(() => takePatch(patch("debug", false, { sessions: { set, drop: [] } })));
    };
    this.made = new MadeUpDebugger({ paused: sites }, tell, { pace: 5, wait: 1 });
    vi.spyOn(connection, "subscribe").mockReturnValue(() => undefined);
    vi.spyOn(connection, "ask").mockImplementation(async (question) => {
      if (useLink.getState().phase !== "live") throw new NoAnswer(null);
      if (question.type !== "debug") throw new Error(`not expected: ${question.type}`);
      const { worker_id, command, arguments: args } = question;
      try {
        const body = await (this.made as unknown as { call: (...args: unknown[]) => Promise<unknown> }).call(
          worker_id,
          command,
          args,
        );
        if (this.slow.has(command)) await new Promise<void>((resolve) => this.due.push(resolve));
        return { ...REPLY, debug: body };
      } catch (error) {
        const { body } = error as { body?: { code: string; message: string; hint: string } };
        if (!body) throw error;
        throw new NoAnswer(body);
      }
    });
  }

  flush(): Promise<void> {
    const due = this.due.splice(0);
    return act(async () => {
      for (const send of due) send();
    });
  }

  commands(name?: string): Asked[] {
    return this.made.asked.filter((one) => name === undefined || one.command === name);
  }
}
