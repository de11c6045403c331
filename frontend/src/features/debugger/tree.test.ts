// @vitest-environment node
import { describe, expect, it } from "vitest";
import { variable } from "../../../test/debug";
import { flatten, ofKey, PAGE, type Page, type Pages, withAnswer } from "./tree";

const root = { base: "v", epoch: "e1", reference: 1 };
const page = (of: string, names: string[], over: Partial<Page> = {}): Page => ({
  of,
  variables: names.map((name, i) => variable(name, { variablesReference: i === 0 ? 2 : 0 })),
  total: names.length,
  busy: false,
  error: null,
  ...over,
});
const texts = (pages: Pages, open: string[] = [], at = root) =>
  flatten(at, pages, new Set(open)).rows.map((row) =>
    row.kind === "value"
      ? `${"  ".repeat(row.depth)}${row.variable.name}${row.old ? " old" : ""}`
      : `${"  ".repeat(row.depth)}${row.kind === "more" ? `+${row.left}` : row.note}`,
  );

describe("flatten", () => {
  it("asks for what isn't there", () => {
    const { rows, wanted } = flatten(root, new Map(), new Set());
    expect(rows).toMatchObject([{ kind: "note", note: "loading" }]);
    expect(wanted).toEqual([{ path: "v", reference: 1, of: "e1#1", count: PAGE }]);
  });

  it("shows children of what is unfolded, and asks for no more than that", () => {
    const pages = new Map([["v", page(ofKey("e1", 1), ["a", "b"])]]);
    expect(texts(pages)).toEqual(["a", "b"]);
    expect(flatten(root, pages, new Set()).wanted).toEqual([]);
    expect(texts(pages, ["v\u0000a"])).toEqual(["a", "  loading", "b"]);
    expect(flatten(root, pages, new Set(["v\u0000a"])).wanted).toMatchObject([{ path: "v\u0000a", reference: 2 }]);
  });

  it("keeps the values of the stop before until the new ones are there, and doesn't ask by their references", () => {
    const pages = new Map([
      ["v", page(ofKey("e0", 1), ["a", "b"])],
      ["v\u0000a", page(ofKey("e0", 2), ["c"])],
    ]);
    expect(texts(pages, ["v\u0000a"])).toEqual(["a old", "  c old", "b old"]);
    expect(flatten(root, pages, new Set(["v\u0000a"])).wanted).toMatchObject([{ path: "v", reference: 1 }]);
  });

  it("offers the rest, says what is empty, what failed, and tells equal names apart", () => {
    const of = ofKey("e1", 1);
    expect(texts(new Map([["v", page(of, ["a"], { total: 10_000_000 })]]))).toEqual(["a", "+9999999"]);
    expect(texts(new Map([["v", page(of, [])]]))).toEqual(["empty"]);
    expect(texts(new Map([["v", page(of, [], { error: "gone" })]]))).toEqual(["error"]);
    const paths = flatten(root, new Map([["v", page(of, ["x", "x"])]]), new Set()).rows.map((row) => row.path);
    expect(new Set(paths).size).toBe(2);
  });

  it("asks for as many as were seen before, within reason", () => {
    const many = Array.from({ length: 5000 }, (_, i) => String(i));
    const { wanted } = flatten(root, new Map([["v", page("e0#1", many)]]), new Set());
    expect(wanted[0]?.count).toBe(1000);
  });
});

it("appends later pages, and starts anew for another value", () => {
  const answer = (start: number, names: string[]) => ({ start, total: 4, variables: names.map((n) => variable(n)) });
  const first = withAnswer(undefined, "a#1", answer(0, ["0", "1"]));
  const both = withAnswer(first, "a#1", answer(2, ["2", "3"]));
  expect(both.variables.map((one) => one.name)).toEqual(["0", "1", "2", "3"]);
  expect(withAnswer(both, "b#1", answer(0, ["9"])).variables.map((one) => one.name)).toEqual(["9"]);
  // The same page twice adds nothing.
  expect(withAnswer(both, "a#1", answer(2, ["2", "3"])).variables).toHaveLength(4);
});
