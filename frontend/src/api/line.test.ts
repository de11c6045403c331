import { expect, it } from "vitest";
import { NoAnswer, type Question } from "./connection";
import { Line } from "./line";
import type { Reply } from "./types.gen";

const ask = (job_id: string): Question => ({ type: "query_tasks", job_id });

function line() {
  const sent: { question: Question; answer: (ok?: boolean) => void }[] = [];
  const made = new Line(
    (question) =>
      new Promise<Reply>((resolve, reject) =>
        sent.push({
          question,
          answer: (ok = true) => (ok ? resolve({ id: sent.length } as Reply) : reject(new NoAnswer(null))),
        }),
      ),
  );
  const jobs = () => sent.map(({ question }) => (question as { job_id: string }).job_id);
  return { line: made, sent, jobs };
}

it("has one question on its way; of those that wait only the newest is asked", async () => {
  const { line: one, sent, jobs } = line();
  const answers = ["a", "b", "c"].map((id) => one.ask(ask(id)));
  expect(jobs()).toEqual(["a"]);
  expect(one.idle).toBe(false);
  expect(await answers[1]).toBeNull();
  sent[0]?.answer();
  expect(await answers[0]).toMatchObject({ id: 1 });
  expect(jobs()).toEqual(["a", "c"]);
  sent[1]?.answer();
  expect(await answers[2]).not.toBeNull();
  await Promise.resolve();
  expect(one.idle).toBe(true);
});

it("goes on after one that wasn't answered", async () => {
  const { line: one, sent, jobs } = line();
  const [a, b] = [one.ask(ask("a")), one.ask(ask("b"))];
  sent[0]?.answer(false);
  await expect(a).rejects.toBeInstanceOf(NoAnswer);
  expect(jobs()).toEqual(["a", "b"]);
  sent[1]?.answer();
  expect(await b).not.toBeNull();
});

it("cleared, it drops the answer that is on its way", async () => {
  const { line: one, sent } = line();
  const [a, b] = [one.ask(ask("a")), one.ask(ask("b"))];
  one.clear();
  sent[0]?.answer();
  expect(await a).toBeNull();
  expect(await b).toBeNull();
  expect(sent).toHaveLength(1);
});
