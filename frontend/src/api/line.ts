// One question at a time for one use of its answers, and only the newest of those that wait.
import { connection, NoAnswer, type Question } from "./connection";
import type { Reply } from "./types.gen";

/**
 * A line of questions whose answers replace each other: while one is on its way the next waits, and a newer one takes
 * its place. `null`: nobody needs this answer any more (a newer question came, or the line was cleared).
 */
export class Line {
  private busy = false;
  private next: { question: Question; settle: (reply: Promise<Reply> | null) => void } | null = null;
  private round = 0;

  constructor(private readonly send: (question: Question) => Promise<Reply> = (q) => connection.ask(q)) {}

  get idle(): boolean {
    return !this.busy;
  }

  ask(question: Question): Promise<Reply | null> {
    this.next?.settle(null);
    const round = this.round;
    return new Promise<Reply | null>((resolve) => {
      this.next = { question, settle: resolve };
      this.pump();
    }).then((reply) => (round === this.round ? reply : null));
  }

  /** Whatever is asked now, nobody needs. */
  clear(): void {
    this.round++;
    this.next?.settle(null);
    this.next = null;
  }

  private pump(): void {
    const { next } = this;
    if (this.busy || !next) return;
    this.next = null;
    this.busy = true;
    const reply = this.send(next.question);
    next.settle(reply);
    const done = () => {
      this.busy = false;
      this.pump();
    };
    reply.then(done, done);
  }
}

export { NoAnswer };
