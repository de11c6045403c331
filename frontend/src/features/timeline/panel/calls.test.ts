import { describe, expect, it } from "vitest";
import { NOW_NS, task, taskId } from "../../../../test/rows";
import type { Task } from "../../../api/types.gen";
import { dots, sameCall } from "./calls";

const DRIVER = taskId(999);

/** The call number `call` of a method on a rank: submitted each 10 s, ran `ms`. */
const onRank = (rank: number, ms: number, over: Partial<Task> = {}, call = 0): Task => {
  const submit = NOW_NS + call * 10e9 + rank * 1e6;
  return task(1000 * (call + 1) + rank, {
    actor_id: `a${rank}`,
    rank,
    group_id: "g",
    parent_task_id: DRIVER,
    submit_ns: submit,
    start_ns: submit + 1e6,
    end_ns: submit + 1e6 + ms * 1e6,
    ...over,
  });
};
const ranksOf = (found: ReturnType<typeof sameCall>) => found?.peers.map((peer) => peer.task.rank).sort();

describe("the same call on all ranks", () => {
  it("compares with the others: median, and how many were faster", () => {
    const all = [500, 100, 200, 300].map((ms, rank) => onRank(rank, ms));
    const found = sameCall(all[0] as Task, all);
    expect(ranksOf(found)).toEqual([0, 1, 2, 3]);
    expect(found).toMatchObject({ median: 250e6, faster: 3, own: { ran: 500e6 } });
    expect(sameCall(all[1] as Task, all)).toMatchObject({ median: 250e6, faster: 0, own: { ran: 100e6 } });
    expect(sameCall(all[1] as Task, all.slice(0, 3))).toMatchObject({ median: 200e6 });
  });

  it("takes of each rank the call that was submitted nearest, whatever the order of the answer", () => {
    const calls = [0, 1, 2].flatMap((call) => [0, 1].map((rank) => onRank(rank, 100 * (call + 1), {}, call)));
    for (const all of [calls, [...calls].reverse()]) {
      const found = sameCall(calls[2] as Task, all);
      expect(found?.peers.map((peer) => peer.ran)).toEqual([200e6, 200e6]);
    }
  });

  it("leaves out other methods, parents, groups, and what is in no actor", () => {
    const own = onRank(0, 100);
    const strangers = [
      onRank(1, 100, { name: "Rank.update" }),
      onRank(2, 100, { parent_task_id: taskId(998) }),
      onRank(3, 100, { group_id: "h" }),
      onRank(4, 100, { actor_id: null }),
      onRank(5, 100, { submit_ns: null }),
    ];
    expect(sameCall(own, [own, ...strangers])).toBeNull();
    expect(ranksOf(sameCall(own, [own, ...strangers, onRank(6, 100)]))).toEqual([0, 6]);
  });

  it.each([
    ["still runs", { end_ns: null }],
    ["never ran", { start_ns: null }],
    ["is in no group", { group_id: null }],
    ["was submitted at a time nobody knows", { submit_ns: null }],
    ["has no parent", { parent_task_id: null }],
  ] as [string, Partial<Task>][])("says nothing of one that %s", (_, over) => {
    const others = [onRank(1, 100, over.group_id === null ? over : {}), onRank(2, 100)];
    expect(sameCall(onRank(0, 100, over), others)).toBeNull();
  });

  it("counts the ranks on which it hasn't ended, which aren't compared with", () => {
    const still = onRank(2, 0, { end_ns: null, state: "RUNNING" });
    const untold = onRank(3, 0, { end_ns: null });
    expect(sameCall(onRank(0, 100), [onRank(1, 50), still, untold])).toMatchObject({ open: 1, faster: 1 });
    expect(sameCall(onRank(0, 100), [still])).toBeNull();
  });

  it("never makes a run shorter than nothing of clocks that disagree", () => {
    const found = sameCall(onRank(0, 100), [onRank(1, -50)]);
    expect(found?.peers.map((peer) => peer.ran)).toEqual([100e6, 0]);
  });
});

describe("the dots", () => {
  it("lie from the fastest to the slowest, stacked where they would cover each other", () => {
    const all = [100, 100, 100.1, 200].map((ms, rank) => onRank(rank, ms));
    const found = sameCall(all[0] as Task, all);
    if (!found) throw new Error("not found");
    const placed = dots(found, 11);
    expect(placed.map(({ x, row }) => [x, row])).toEqual([
      [0, 0],
      [0, 1],
      [0, 2],
      [1, 0],
    ]);
    expect(placed.filter(({ peer }) => peer === found.own)).toHaveLength(1);
  });

  it("stand on one spot where all took as long, or there is one column", () => {
    const all = [100, 100, 100].map((ms, rank) => onRank(rank, ms));
    const found = sameCall(all[0] as Task, all);
    if (!found) throw new Error("not found");
    for (const columns of [48, 1])
      expect(dots(found, columns).map(({ x, row }) => [x, row])).toEqual([
        [0, 0],
        [0, 1],
        [0, 2],
      ]);
  });
});
