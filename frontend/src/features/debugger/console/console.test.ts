// @vitest-environment node
import { describe, expect, it } from "vitest";
import type { ConsoleEntry } from "../../../api/types.gen";
import { question, withItem } from "./complete";
import { addEntries, askFrom, blocksOf, EMPTY, MOST_ENTRIES, slowOnes } from "./entries";
import { addToHistory, readHistory, Walk } from "./history";

const entry = (number: number, over: Partial<ConsoleEntry> = {}): ConsoleEntry => ({
  number,
  at_ns: 0,
  kind: "stdout",
  text: String(number),
  ...over,
});
const entries = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => entry(from + i));

describe("entries", () => {
  it("are held once, though answers come twice or late", () => {
    const first = addEntries(EMPTY, 0, { entries: entries(0, 3), end: 3, dropped: 0 });
    const again = addEntries(first, 0, { entries: entries(0, 3), end: 3, dropped: 0 });
    expect(again).toBe(first);
    const more = addEntries(first, 1, { entries: entries(1, 5), end: 5, dropped: 0 });
    expect(more.entries.map((one) => one.number)).toEqual([0, 1, 2, 3, 4]);
  });
  it("are kept up to a number", () => {
    const held = addEntries(EMPTY, 0, { entries: entries(10, MOST_ENTRIES + 20), end: MOST_ENTRIES + 20, dropped: 10 });
    expect(held.entries).toHaveLength(MOST_ENTRIES);
    expect(held.dropped).toBe(20);
  });
  it("are asked for when there are more, and all of them when another hub counts anew", () => {
    const held = addEntries(EMPTY, 0, { entries: entries(0, 3), end: 3, dropped: 0 });
    expect(askFrom(held, { console_end: 3 })).toBeNull();
    expect(askFrom(held, { console_end: 5 })).toBe(3);
    expect(askFrom(held, { console_end: 1 })).toBe(0);
  });
  it("join what was printed in pieces", () => {
    const list = [entry(0, { text: "a\n" }), entry(1, { text: "b" }), entry(2, { kind: "result" }), entry(3)];
    expect(blocksOf(list).map((one) => one.text)).toEqual(["a\nb", "2", "3"]);
  });
  it("have a row of their own when an evaluation takes long", () => {
    const one = { evaluation: 1, expression: "x", who: "me", since_ns: 5e9, threadId: 1 };
    expect(slowOnes([one], 5500)).toEqual([]);
    expect(slowOnes([one], 6500)).toEqual([one]);
  });
});

class MemoryStore {
  items = new Map<string, string>();
  getItem = (key: string) => this.items.get(key) ?? null;
  setItem = (key: string, value: string) => void this.items.set(key, value);
  removeItem = (key: string) => void this.items.delete(key);
}

describe("history", () => {
  it("is of one session, each line once, the newest last", () => {
    const store = new MemoryStore();
    for (const line of ["a", "b", "a"]) addToHistory(store, "w1", line);
    expect(readHistory(store, "w1")).toEqual(["b", "a"]);
    expect(readHistory(store, "w2")).toEqual([]);
  });
  it("of sessions long gone is forgotten", () => {
    const store = new MemoryStore();
    for (let i = 0; i < 30; i++) addToHistory(store, `w${i}`, "x");
    expect(readHistory(store, "w0")).toEqual([]);
    expect(readHistory(store, "w29")).toEqual(["x"]);
    expect(store.items.size).toBe(21);
  });
  it("survives what isn't its own", () => {
    const store = new MemoryStore();
    store.setItem("raydebug.console.w", "{");
    expect(readHistory(store, "w")).toEqual([]);
  });
  it("is walked through, and back to what was being typed", () => {
    const walk = new Walk(["a", "b"]);
    expect([walk.older("draft"), walk.older("b"), walk.older("a")]).toEqual(["b", "a", null]);
    expect([walk.newer(), walk.newer(), walk.newer()]).toEqual(["b", "draft", null]);
  });
});

describe("completion", () => {
  it("asks about the line of the caret", () => {
    expect(question("ab", 2)).toEqual({ text: "ab", column: 3, lineStart: 0 });
    expect(question("x = 1\nab.c\ny", 9)).toEqual({ text: "ab.c", column: 4, lineStart: 6 });
  });
  it("replaces what was typed", () => {
    expect(withItem("self.lo + 1", 7, { label: "loss" })).toEqual({ value: "self.loss + 1", caret: 9 });
    expect(withItem("x\nself.lo", 9, { label: "loss", start: 5, length: 2 })).toEqual({
      value: "x\nself.loss",
      caret: 11,
    });
    expect(withItem("d", 1, { label: "d['k']", text: "d['k']", start: 0, length: 1 }).value).toBe("d['k']");
  });
});
