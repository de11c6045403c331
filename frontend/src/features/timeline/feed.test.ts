import { beforeEach, expect, it, vi } from "vitest";
import { NOW_NS } from "../../../test/rows";
import { marks } from "../../../test/timeline";
import { NoAnswer, type Question } from "../../api/connection";
import { Line } from "../../api/line";
import type { ErrorBody, QueryTimeline, Reply } from "../../api/types.gen";
import { Feed, type Wish } from "./feed";

type Asked = Omit<QueryTimeline, "id">;
let asked: Asked[];
let version: number;
let refuse: ErrorBody | null | undefined;
let problems: (ErrorBody | null)[];

const wish = (over: Partial<Wish> = {}): Wish => ({
  jobId: "01",
  lanes: ["a", "b"],
  window: { from: NOW_NS, to: NOW_NS + 60e9 },
  width: 1000,
  ratio: 1,
  follow: false,
  version,
  ...over,
});

function feed(): Feed {
  const send = async (question: Question): Promise<Reply> => {
    asked.push(question as Asked);
    if (refuse !== undefined) throw new NoAnswer(refuse);
    return { marks: marks([{ lane: "a", start: 1 }], [], { version }) } as Reply;
  };
  return new Feed((problem) => problems.push(problem), new Line(send));
}
const settle = (ms = 0) => vi.advanceTimersByTimeAsync(ms);

beforeEach(() => {
  vi.useFakeTimers();
  [asked, problems, version, refuse] = [[], [], 5, undefined];
});

it("asks for what is seen, then for what has changed, at most ten times a second", async () => {
  const one = feed();
  one.want(wish());
  await settle();
  expect(asked).toHaveLength(1);
  expect(asked[0]).toMatchObject({ job_id: "01", lanes: ["a", "b"], since: 0 });
  one.want(wish());
  await settle(1000);
  expect(asked).toHaveLength(1); // nothing new
  for (let i = 0; i < 50; i++) {
    version++;
    one.want(wish());
    await settle(10);
  }
  expect(asked.length).toBeGreaterThan(3);
  expect(asked.length).toBeLessThanOrEqual(7);
  expect(asked.slice(1).every((question) => (question.since ?? 0) >= 5)).toBe(true);
});

it("asks for lanes that come into sight alone", async () => {
  const one = feed();
  one.want(wish());
  await settle();
  one.want(wish({ lanes: ["a", "b", "c"] }));
  await settle(200);
  expect(asked[1]).toMatchObject({ lanes: ["c"], since: 0 });
  expect(asked[1]).toMatchObject({ from_ns: asked[0]?.from_ns, pixels: asked[0]?.pixels });
});

it("asks nothing while one pans within what is held, and anew beyond", async () => {
  const one = feed();
  one.want(wish());
  await settle();
  for (let by = 0; by < 50; by += 5) {
    one.want(wish({ window: { from: NOW_NS + by * 1e9, to: NOW_NS + (60 + by) * 1e9 } }));
    await settle(200);
  }
  expect(asked).toHaveLength(1);
  one.want(wish({ window: { from: NOW_NS + 200e9, to: NOW_NS + 260e9 } }));
  await settle(200);
  expect(asked).toHaveLength(2);
  expect(one.held?.from).toBe(asked[1]?.from_ns);
});

it("says what the hub said, and tries again", async () => {
  const one = feed();
  refuse = { code: "unknown_job", message: "No such job.", hint: "" };
  one.want(wish());
  await settle();
  expect(problems).toEqual([refuse]);
  refuse = undefined;
  await settle(2100);
  expect(problems.at(-1)).toBeNull();
  expect(one.held?.lanes.get("a")?.slices?.length).toBe(1);
});

it("forgets the marks of another job", async () => {
  const one = feed();
  one.want(wish());
  await settle();
  one.want(wish({ jobId: "02" }));
  expect(one.held).toBeNull();
  await settle();
  expect(asked.at(-1)).toMatchObject({ job_id: "02", since: 0 });
});
