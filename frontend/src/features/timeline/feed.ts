// Fetches the marks of the lanes that are seen, and again what has changed of them; keeps one question on its way.
import { Line, NoAnswer } from "../../api/line";
import type { ErrorBody } from "../../api/types.gen";
import { serves, wantedFor } from "./fetching";
import { type Frame, type Held, merge, sameFrame, sinceOf } from "./marks";
import type { Window } from "./state";

export interface Wish {
  jobId: string;
  /** The lanes that are seen, and some around them. */
  lanes: readonly string[];
  window: Window;
  width: number;
  ratio: number;
  follow: boolean;
  /** Of the job's tasks: when it grows, something changed. */
  version: number;
}

const MOST_LANES = 2048;
const LEAST_PERIOD_MS = 100;
/** Of the time, at most a quarter goes to asking and decoding. */
const REST = 3;
const RETRY_MS = 2000;

export class Feed {
  held: Held | null = null;
  private frame: Frame | null = null;
  private wish: Wish | null = null;
  private busy = false;
  private readyAt = 0;
  private timer: number | undefined;
  /** Answers to questions before a reset are not ours any more. */
  private round = 0;

  constructor(
    private readonly changed: (problem: ErrorBody | null) => void,
    private readonly line = new Line(),
  ) {}

  /** What the view shows now; cheap, to be called with each frame. */
  want(wish: Wish): void {
    if (this.wish?.jobId !== wish.jobId) this.reset();
    this.wish = wish;
    this.pump();
  }

  /** Another job, or another hub, whose versions mean something else. */
  reset(): void {
    this.round++;
    this.held = null;
    this.frame = null;
    this.readyAt = 0;
    this.busy = false;
    this.line.clear();
    window.clearTimeout(this.timer);
  }

  private pump(): void {
    const { wish } = this;
    if (this.busy || !wish || wish.lanes.length === 0) return;
    const now = performance.now();
    const frame = this.frameFor(wish);
    const held = this.held && sameFrame(this.held, frame) ? this.held : null;
    const missing = held ? wish.lanes.filter((id) => !held.lanes.has(id)) : wish.lanes;
    if (missing.length === 0 && sinceOf(held, frame, wish.lanes) >= wish.version) return;
    if (now < this.readyAt) {
      window.clearTimeout(this.timer);
      this.timer = window.setTimeout(() => this.pump(), this.readyAt - now);
      return;
    }
    void this.fetch(frame, (missing.length > 0 ? missing : wish.lanes).slice(0, MOST_LANES));
  }

  private frameFor(wish: Wish): Frame {
    const { frame } = this;
    if (frame && serves(frame, wish.window, wish.width, wish.ratio)) return frame;
    const next: Frame = { jobId: wish.jobId, ...wantedFor(wish.window, wish.width, wish.ratio, wish.follow) };
    this.frame = frame && sameFrame(frame, next) ? frame : next;
    return this.frame;
  }

  private async fetch(frame: Frame, lanes: readonly string[]): Promise<void> {
    const { round } = this;
    this.busy = true;
    const began = performance.now();
    let problem: ErrorBody | null = null;
    let pause = 0;
    try {
      const reply = await this.line.ask({
        type: "query_timeline",
        job_id: frame.jobId,
        lanes: [...lanes],
        from_ns: frame.from,
        to_ns: frame.to,
        pixels: frame.pixels,
        since: sinceOf(this.held, frame, lanes),
      });
      if (round !== this.round) return;
      if (reply?.marks) this.held = merge(this.held, frame, lanes, reply.marks);
      pause = Math.max(LEAST_PERIOD_MS, REST * (performance.now() - began));
    } catch (why) {
      if (round !== this.round) return;
      problem = why instanceof NoAnswer ? why.body : null;
      pause = RETRY_MS;
    }
    this.busy = false;
    this.readyAt = performance.now() + pause;
    this.changed(problem);
    this.pump();
  }
}
