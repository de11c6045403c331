// @vitest-environment node
import { describe, expect, it } from "vitest";
import { actor, job, node, site, thread } from "../../../test/rows";
import type { Actor, Node, PausedSite } from "../../api/types.gen";
import { en } from "../../i18n";
import { headline } from "./headline";

const say = (over: { actors?: Actor[]; sites?: PausedSite[]; nodes?: Node[]; job?: ReturnType<typeof job> }) =>
  headline(
    {
      job: over.job ?? job("01"),
      actors: over.actors ?? [],
      sites: over.sites ?? [],
      nodes: new Map((over.nodes ?? []).map((n) => [n.node_id, n])),
    },
    en,
  );

describe("headline", () => {
  it("names the method that a breakpoint holds, and where", () => {
    const members = [0, 1, 2].map((rank) => thread({ task_name: "update_actor", group: "actor_rollout", rank }));
    const line = say({ sites: [site("s", { members })] });
    expect(line).toMatchObject({ tone: "paused", title: "update_actor is held by a breakpoint" });
    expect(line.detail).toBe("at runner.py:88 on actor_rollout ranks 0–2");
  });

  it("counts when the method isn't known, or the places are several", () => {
    const members = [thread({ rank: 0 }), thread({ rank: 1 })];
    expect(say({ sites: [site("s", { members, function: null })] }).title).toBe("2 ranks paused at runner.py:88");
    const two = say({ sites: [site("s", { members }), site("t", { file: null, line: null })] });
    expect(two.title).toBe("3 processes paused at 2 places");
    expect(two.detail).toBe("at runner.py:88, an unknown place");
  });

  it("knows exceptions and drivers", () => {
    const raised = site("s", { kind: "exception", members: [thread({ task_name: "fit" })] });
    expect(say({ sites: [raised] }).title).toBe("fit is held after an exception");
    const driver = site("s", { members: [thread({ worker_type: "driver", actor_id: null })] });
    expect(say({ sites: [driver] }).title).toBe("The driver is held by a breakpoint");
  });

  it("puts the worst first and keeps the rest", () => {
    const actors = [
      actor("a", { state: "failed", death_cause: "\nOut of memory\nmore" }),
      actor("b", { node_id: "n2" }),
    ];
    const nodes = [node("n2", { alive: false, ip: "10.0.0.9" }), node("n3", { alive: false })];
    const line = say({ actors, nodes });
    expect(line).toMatchObject({ tone: "failed", title: "1 actor failed", detail: "Out of memory" });
    expect(line.also).toEqual([{ tone: "dead", text: "Node lost: 10.0.0.9" }]);
  });

  it("says what runs when nothing is wrong", () => {
    const actors = [0, 1].map((rank) =>
      actor(`${rank}`, { group_id: "g", rank, state: "running", task_name: "generate_sequences" }),
    );
    expect(say({ actors })).toMatchObject({
      tone: "running",
      title: "Running: generate_sequences",
      detail: "on 2 ranks",
    });
    expect(say({ actors: [actor("r", { group_id: "g" })] }).title).toBe("Running: no rank is in a method now");
    expect(say({}).title).toBe("Running");
  });

  it("says how an ended job ended", () => {
    const ended = job("01", { state: "finished" });
    expect(say({ job: ended, sites: [site("s")] }).title).toBe("Finished");
    expect(say({ job: ended, actors: [actor("a", { state: "failed" })] }).title).toBe("Finished with 1 failed actor");
  });
});
