// @vitest-environment node
import { pythonLanguage } from "@codemirror/lang-python";
import { describe, expect, it } from "vitest";
import { variable } from "../../../../test/debug";
import { expressionAt } from "./hover";
import { boundNames, functionStart, inlineValues } from "./inline";

describe("names that a line binds", () => {
  it.each([
    ["loss = a / b", ["loss"]],
    ["a, (b, c) = d", ["a", "b", "c"]],
    ["x: int = 5", ["x"]],
    ["total += 1", ["total"]],
    ["for i, part in enumerate(parts):", ["i", "part"]],
    ["with open(p) as f, g() as h:", ["f", "h"]],
    ["if (n := len(a)) > 1:", ["n"]],
    ["self.loss = 1", []],
    ["d[k] = 1", []],
    ["f(a=1)", []],
    ["return a == b", []],
    ["x = 'a = b'  # c = d", ["x"]],
    ["    def f(self, a, b=1, *args, c: int = 2, **kwargs):", ["a", "b", "args", "c", "kwargs"]],
    ["async for row in rows:", ["row"]],
  ])("%s", (line, expected) => expect(boundNames(line)).toEqual(expected));
});

const CODE = [
  "import x",
  "class A:",
  "    def f(self, n):",
  "        m = n + 1",
  "",
  "        # a remark",
  "        for i in range(m):",
  "            total = i",
  "        return total",
  "",
  "    def g(self):",
  "        m = 5",
];

it("finds where the function begins", () => {
  expect(functionStart(CODE, 8)).toBe(3);
  expect(functionStart(CODE, 12)).toBe(11);
  expect(functionStart(CODE, 1)).toBe(1);
});

it("puts values at the ends of lines up to the one that runs next, within the function", () => {
  const locals = [
    variable("n", { value: "1" }),
    variable("m", { value: "2" }),
    variable("i", { value: "0" }),
    variable("long", { value: "x".repeat(99) }),
  ];
  expect([...inlineValues(CODE, 8, locals)]).toEqual([
    [3, "n = 1"],
    [4, "m = 2"],
    [7, "i = 0"],
    [8, "i = 0"],
  ]);
});

describe("the expression under the pointer", () => {
  const at = (text: string, mark: string) => {
    const found = expressionAt(pythonLanguage.parser.parse(text), text, text.indexOf(mark));
    return found?.text ?? null;
  };
  it.each([
    ["loss = a.b.c + 1", "a", "a"],
    ["loss = a.b.c + 1", "b", "a.b"],
    ["loss = a.b.c + 1", "c ", "a.b.c"],
    ["x[0].rest", "rest", "x[0].rest"],
    ["x['k'].rest", "rest", "x['k'].rest"],
    ["x[i].rest", "rest", "x[i].rest"],
    ["f(x).rest", "rest", null],
    ["x[f()].rest", "rest", null],
    ["a.call(b)", "call", "a.call"],
    ["f(name=value)", "name", null],
    ["f(name=value)", "value", "value"],
    ["def name(): pass", "name", null],
    ["x = 'text'", "text", null],
    ["# word", "word", null],
    ["return 5", "return", null],
  ])("%s at %s", (text, mark, expected) => expect(at(text, mark)).toBe(expected));
});
