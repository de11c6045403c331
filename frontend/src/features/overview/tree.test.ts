// @vitest-environment node
import { describe, expect, it } from "vitest";
import { actor, group, node } from "../../../test/rows";
import { buildTree, chainOf, columnsOf, gridRows, nodeLabel, roleLines } from "./tree";

describe("buildTree", () => {
  it("nests groups under the actor that made them", () => {
    const actors = [
      actor("runner", { class_name: "TaskRunner" }),
      actor("b", { group_id: "g", rank: 1, parent_actor_id: "runner" }),
      actor("a", { group_id: "g", rank: 0, parent_actor_id: "runner" }),
      actor("queue"),
      actor("other", { job_id: "02" }),
    ];
    const root = buildTree("01", [group("g", { parent_actor_id: "runner" }), group("x", { job_id: "02" })], actors);
    expect(root.groups).toEqual([]);
    expect(root.plain.map((a) => a.actor_id)).toEqual(["queue"]);
    expect(root.creators.map((c) => c.actor?.actor_id)).toEqual(["runner"]);
    expect(root.creators[0]?.groups[0]?.members.map((m) => m.rank)).toEqual([0, 1]);
    const { chain, plain, rest } = chainOf(root);
    expect(chain.map((a) => a.actor_id)).toEqual(["runner"]);
    expect(plain.map((a) => a.actor_id)).toEqual(["queue"]);
    expect(rest.groups.length).toBe(1);
  });

  it("goes deeper: groups and actors made by members", () => {
    const actors = [
      actor("m", { group_id: "g", rank: 0 }),
      actor("e", { group_id: "h", rank: 0, parent_actor_id: "m" }),
      actor("helper", { parent_actor_id: "m" }),
    ];
    const root = buildTree("01", [group("g"), group("h", { parent_actor_id: "m" })], actors);
    const [g] = root.groups;
    expect(g?.made.groups.map((n) => n.group.group_id)).toEqual(["h"]);
    expect(g?.made.plain.map((a) => a.actor_id)).toEqual(["helper"]);
  });

  it("loses nobody: unknown makers, unknown groups, circles", () => {
    const actors = [
      actor("orphan", { parent_actor_id: "gone" }),
      actor("early", { group_id: "not yet" }),
      actor("x", { parent_actor_id: "y" }),
      actor("y", { parent_actor_id: "x" }),
    ];
    const root = buildTree("01", [], actors);
    const seen: string[] = [];
    const walk = (branch: typeof root) => {
      if (branch.actor) seen.push(branch.actor.actor_id);
      seen.push(...branch.plain.map((a) => a.actor_id));
      branch.creators.forEach(walk);
    };
    walk(root);
    expect(seen.sort()).toEqual(["early", "orphan", "x", "y"]);
  });
});

describe("gridRows", () => {
  const nodes = new Map(
    [node("aaaa1111", { ip: "10.0.0.1" }), node("bbbb2222", { ip: "10.0.0.2", alive: false })].map((n) => [
      n.node_id,
      n,
    ]),
  );

  it("has one row a node, ranks declared but not seen at the end", () => {
    const members = [
      actor("a", { rank: 0, node_id: "bbbb2222" }),
      actor("b", { rank: 1, node_id: "aaaa1111" }),
      actor("c", { rank: 2, node_id: "bbbb2222" }),
      actor("d", { rank: null, node_id: null }),
    ];
    const rows = gridRows(members, 6, nodes);
    expect(rows.map((r) => [r.label, r.lost, r.cells.map((c) => c.rank)])).toEqual([
      ["10.0.0.2", true, [0, 2]],
      ["10.0.0.1", false, [1]],
      ["", false, [null]],
      ["", false, [3, 4]],
    ]);
  });

  it("draws no more unseen ranks than a browser bears, whatever a job declares", () => {
    const rows = gridRows([actor("a", { rank: 0 })], 999_999_999, nodes);
    expect(rows.at(-1)?.cells.length).toBe(1024);
  });

  it("tells nodes of one machine apart", () => {
    const twins = new Map(["aaaa1111", "bbbb2222"].map((id) => [id, node(id, { ip: "10.0.0.1" })]));
    expect(nodeLabel("aaaa1111", twins)).toBe("10.0.0.1 aaaa");
    expect(nodeLabel("aaaa1111", nodes)).toBe("10.0.0.1");
    expect(nodeLabel("cccc3333dddd", nodes)).toBe("cccc3333");
  });
});

describe("roleLines", () => {
  it("says what each role does now", () => {
    const members = [
      actor("a", { role: "actor", state: "paused", task_name: "update_actor", since_ns: 5 }),
      actor("b", { role: "actor", state: "waiting", task_name: "update_actor", since_ns: 2 }),
    ];
    expect(roleLines(group("g", { roles: ["actor", "rollout"] }), members)).toEqual([
      { role: "actor", method: "update_actor", tone: "paused", since: 5 },
      { role: "rollout", method: null, tone: "idle", since: null },
    ]);
  });
  it("has one line without a name where roles aren't known", () => {
    const lines = roleLines(group("g"), [actor("a", { state: "idle", since_ns: 7 })]);
    expect(lines).toEqual([{ role: "", method: null, tone: "idle", since: 7 }]);
  });
});

it("columnsOf balances by height, in order", () => {
  const list = ["a", "b", "c", "d"].map((id) => ({
    group: group(id),
    members: [],
    made: { actor: null, groups: [], creators: [], plain: [] },
  }));
  const columns = columnsOf(list, [8, 4, 4, 1], 2).map((column) => column.map((n) => n.group.group_id));
  expect(columns).toEqual([
    ["a", "d"],
    ["b", "c"],
  ]);
});
