// A real cluster for one spec: on free ports, with its own session, ended with the spec; its jobs are ended first.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect } from "@playwright/test";

const ROOT = join(import.meta.dirname, "..");
const PYTHON = process.env.RAYDEBUG_PYTHON ?? join(ROOT, ".venv/bin/python");

/** What a job or command said, for the report of a spec that failed. */
class Process {
  output = "";
  readonly ended: Promise<number | null>;

  constructor(readonly child: ChildProcess) {
    const take = (chunk: Buffer) => {
      this.output = (this.output + chunk.toString()).slice(-20_000);
    };
    child.stdout?.on("data", take);
    child.stderr?.on("data", take);
    this.ended = once(child, "close").then(([code]) => code as number | null);
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    this.child.kill("SIGTERM");
    const late = setTimeout(() => this.child.kill("SIGKILL"), 15_000);
    await this.ended;
    clearTimeout(late);
  }
}

export class Cluster {
  private readonly jobs: Process[] = [];

  private constructor(
    private readonly server: Process,
    private readonly env: NodeJS.ProcessEnv,
    /** The dashboard's, without /debug. */
    readonly url: string,
    readonly address: string,
    readonly sessionDir: string,
  ) {}

  static async start(extra: Record<string, string> = {}): Promise<Cluster> {
    const env: NodeJS.ProcessEnv = { ...process.env, ...extra };
    delete env.RAY_ADDRESS;
    delete env.RAYDEBUG_ADDRESS;
    const script = join(ROOT, "tests/support/serve_cluster.py");
    const child = spawn(PYTHON, [script], { cwd: ROOT, env, stdio: ["pipe", "pipe", "pipe"] });
    const server = new Process(child);
    const line = await Promise.race([
      once(createInterface(child.stdout), "line").then(([text]) => text as string),
      server.ended.then((code) => {
        throw new Error(`the cluster ended with status ${code}:\n${server.output}`);
      }),
    ]);
    const found = JSON.parse(line) as { url: string; address: string; session_dir: string };
    return new Cluster(server, { ...env, RAY_ADDRESS: found.address }, found.url, found.address, found.session_dir);
  }

  /** The page, at a view: `cluster.page("#/overview?job=01000000")`. */
  page(hash = ""): string {
    return `${this.url}/debug${hash}`;
  }

  /** A driver that runs until the spec ends. */
  job(...argv: string[]): Process {
    const child = spawn(PYTHON, argv, { cwd: ROOT, env: this.env, stdio: ["ignore", "pipe", "pipe"] });
    const started = new Process(child);
    this.jobs.push(started);
    return started;
  }

  demo(...argv: string[]): Process {
    return this.job("-m", "raydebug.cli", "demo", "--address", this.address, ...argv);
  }

  /** `raydebug ARGV…`, run to its end; its standard output. */
  async raydebug(...argv: string[]): Promise<string> {
    const [command, ...rest] = argv as [string, ...string[]];
    const args = ["-m", "raydebug.cli", command, "--address", this.address, ...rest];
    const child = spawn(PYTHON, args, { cwd: ROOT, env: this.env, stdio: ["ignore", "pipe", "pipe"] });
    let out = "";
    let problem = "";
    child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (problem += chunk.toString()));
    const [code] = await once(child, "close");
    expect(code, `raydebug ${argv.join(" ")}\n${problem}`).toBe(0);
    return out.trim();
  }

  async hubPid(): Promise<number> {
    const answer = await fetch(`${this.url}/debug/api/v1/health`);
    const health = (await answer.json()) as { pid: number };
    return health.pid;
  }

  async stop(): Promise<void> {
    await Promise.all(this.jobs.map((job) => job.stop()));
    this.server.child.stdin?.end();
    const late = setTimeout(() => this.server.child.kill("SIGTERM"), 60_000);
    await this.server.ended;
    clearTimeout(late);
  }
}
