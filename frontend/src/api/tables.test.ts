// @vitest-environment node
import { describe, expect, it } from "vitest";
import { actor, node, patch, site } from "../../test/rows";
import { applyPatch, emptyRows } from "./tables";

const start = () =>
  applyPatch(
    emptyRows(),
    patch("topology", true, {
      nodes: { set: [node("n1")], drop: [] },
      actors: { set: [actor("a"), actor("b")], drop: [] },
    }),
  );

describe("applyPatch", () => {
  it("sets and drops rows by key", () => {
    const rows = applyPatch(
      start(),
      patch("topology", false, { actors: { set: [actor("b", { state: "paused" }), actor("c")], drop: ["a"] } }),
    );
    expect([...rows.actors.keys()]).toEqual(["b", "c"]);
    expect(rows.actors.get("b")?.state).toBe("paused");
  });

  it("keeps the identity of what didn't change", () => {
    const before = start();
    const after = applyPatch(
      before,
      patch("topology", false, { actors: { set: [actor("a"), actor("b", { rank: 1 })], drop: [] } }),
    );
    expect(after.nodes).toBe(before.nodes);
    expect(after.actors.get("a")).toBe(before.actors.get("a"));
    expect(after.actors.get("b")).not.toBe(before.actors.get("b"));
  });

  it("returns the same rows when nothing changed", () => {
    const before = start();
    expect(applyPatch(before, patch("topology", false, { actors: { set: [actor("a")], drop: ["x"] } }))).toBe(before);
  });

  it("forgets the topic's rows on a full patch, and only these", () => {
    const paused = applyPatch(start(), patch("paused", true, { paused: { set: [site("s")], drop: [] } }));
    const after = applyPatch(paused, patch("topology", true, { actors: { set: [actor("b")], drop: [] } }));
    expect([...after.actors.keys()]).toEqual(["b"]);
    expect(after.nodes.size).toBe(0);
    expect(after.paused).toBe(paused.paused);
  });

  it("a full patch of the same rows, as after a reconnect, changes nothing", () => {
    const before = start();
    const again = patch("topology", true, {
      nodes: { set: [node("n1")], drop: [] },
      actors: { set: [actor("a"), actor("b")], drop: [] },
    });
    expect(applyPatch(before, again)).toBe(before);
  });

  it("takes null for a table without change", () => {
    const before = start();
    expect(applyPatch(before, patch("topology", false, { actors: null }))).toBe(before);
  });
});
