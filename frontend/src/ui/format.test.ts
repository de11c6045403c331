// @vitest-environment node
import { describe, expect, it } from "vitest";
import { en } from "../i18n";
import { baseName, formatDuration, formatRanks, shortClass, shortCommand } from "./format";
import { parseSearch, stringifySearch, validateSearch } from "./search";

describe("formatDuration", () => {
  it.each([
    [-5, "0s"],
    [999, "0s"],
    [48_000, "48s"],
    [134_000, "2m 14s"],
    [3_600_000, "1h 00m"],
    [51_720_000, "14h 22m"],
    [273_600_000, "3d 4h"],
  ])("%d", (ms, expected) => expect(formatDuration(ms, en.units)).toBe(expected));
});

describe("formatRanks", () => {
  it.each([
    [[], ""],
    [[3], "3"],
    [[2, 0, 1, 1], "0–2"],
    [[0, 1, 5, 7, 8, 9], "0–1, 5, 7–9"],
  ])("%j", (ranks, expected) => expect(formatRanks(ranks)).toBe(expected));
});

it("baseName", () => {
  expect(baseName("/a/b.py")).toBe("b.py");
  expect(baseName("<string>")).toBe("<string>");
});

it("leaves out where a class was written, and the folder of the interpreter", () => {
  expect(shortClass("create_colocated_worker_cls.<locals>.WorkerDict")).toBe("WorkerDict");
  expect(shortClass("TaskRunner")).toBe("TaskRunner");
  expect(shortCommand("/opt/env/bin/python -m train --to /tmp/x")).toBe("python -m train --to /tmp/x");
  expect(shortCommand("raydebug demo /tmp")).toBe("raydebug demo /tmp");
  expect(shortCommand("/usr/bin/train")).toBe("train");
  expect(shortCommand("/opt/env/bin/python3.11 /opt/env/bin/raydebug demo --ranks 2")).toBe("raydebug demo --ranks 2");
  expect(shortCommand("python /srv/train.py")).toBe("python /srv/train.py");
});

describe("search parameters", () => {
  it("stay strings", () => {
    expect(parseSearch("?job=02000000&state=paused,failed")).toEqual({ job: "02000000", state: "paused,failed" });
    expect(stringifySearch({ job: "02000000", state: "paused,failed", actor: undefined })).toBe(
      "?job=02000000&state=paused,failed",
    );
    expect(stringifySearch({})).toBe("");
  });
  it("keep only what is known", () => {
    expect(validateSearch({ job: "01", x: "y", actor: 5, site: "" })).toEqual({ job: "01" });
  });
});
