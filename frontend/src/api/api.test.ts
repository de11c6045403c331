import { beforeEach, describe, expect, it } from "vitest";
import { job } from "../../test/rows";
import { mountPoint } from "./base";
import { hubNow, learnClock, resetClock } from "./clock";
import { pickJob } from "./jobs";
import { retryDelay } from "./schedule";
import { linkState, useLink } from "./stores";
import { forgetToken, keepToken, storedToken, takeTokenFromAddress, tokenFromFragment } from "./token";

describe("retryDelay", () => {
  it("tries within 0.3 s, then doubles to 5 s at most", () => {
    const latest = Array.from({ length: 8 }, (_, i) => retryDelay(i, () => 1));
    expect(latest).toEqual([300, 600, 1200, 2400, 4800, 5000, 5000, 5000]);
    expect(retryDelay(0, () => 0)).toBe(150);
  });
});

describe("mountPoint", () => {
  it.each([
    ["/debug", "/debug"],
    ["/debug/", "/debug"],
    ["/user/x/proxy/8265/debug", "/user/x/proxy/8265/debug"],
    ["/debugger", "/debug"],
  ])("%s", (path, expected) => expect(mountPoint(path)).toBe(expected));
});

describe("the token in the fragment", () => {
  beforeEach(() => {
    forgetToken();
    window.history.replaceState(null, "", "/debug");
  });

  it("is taken apart", () => {
    expect(tokenFromFragment("#token=abc")).toEqual({ token: "abc", hash: "#/" });
    expect(tokenFromFragment("#token=a%2Bb&to=/overview?job=01&actor=x")).toEqual({
      token: "a+b",
      hash: "#/overview?job=01&actor=x",
    });
    expect(tokenFromFragment("#token=abc&to=%2Foverview%3Fjob%3D01")?.hash).toBe("#/overview?job=01");
    expect(tokenFromFragment("#token=abc&to=javascript:alert(1)")?.hash).toBe("#/");
    expect(tokenFromFragment("#/overview?job=01")).toBeNull();
  });

  it("leaves the address bar and stays for the tab", () => {
    window.history.replaceState(null, "", "/debug#token=secret&to=/overview?job=01");
    takeTokenFromAddress();
    expect(window.location.href).not.toContain("secret");
    expect(window.location.hash).toBe("#/overview?job=01");
    expect(storedToken()).toBe("secret");
    expect(window.localStorage.length).toBe(0);
  });

  it("stays in the browser only where asked for", () => {
    keepToken("x", true);
    expect(window.localStorage.length).toBe(1);
    keepToken("y", false);
    expect(window.localStorage.length).toBe(0);
    expect(storedToken()).toBe("y");
  });
});

describe("the hub's clock", () => {
  it("follows the least delayed message", () => {
    resetClock();
    learnClock(10_000 * 1e6, 1000); // 200 ms late, say
    learnClock(11_200 * 1e6, 2000);
    expect(hubNow(3000)).toBe(12_200);
    learnClock(12_100 * 1e6, 3000); // late again: not believed
    expect(hubNow(3000)).toBe(12_200);
  });
});

describe("pickJob", () => {
  const jobs = new Map(
    [job("01", { start_ns: 1 }), job("02", { start_ns: 3, state: "finished" }), job("03", { start_ns: 2 })].map(
      (one) => [one.job_id, one],
    ),
  );
  it("takes the newest running one, else the newest ended", () => {
    expect(pickJob(jobs, undefined)?.job_id).toBe("03");
    const ended = new Map([...jobs].map(([id, one]) => [id, { ...one, state: "finished" as const }]));
    expect(pickJob(ended, undefined)?.job_id).toBe("02");
    expect(pickJob(new Map(), undefined)).toBeUndefined();
  });
  it("takes the one asked for, and no other in its place", () => {
    expect(pickJob(jobs, "01")?.job_id).toBe("01");
    expect(pickJob(jobs, "09")).toBeUndefined();
  });
});

describe("linkState", () => {
  const link = useLink.getInitialState();
  it("is one word", () => {
    expect(linkState(link, false)).toBe("offline");
    expect(linkState({ ...link, phase: "live" }, true)).toBe("live");
    expect(linkState({ ...link, phase: "lost" }, true)).toBe("live"); // not yet 3 s
    expect(linkState({ ...link, phase: "lost", stale: true }, true)).toBe("stale");
    expect(linkState({ ...link, phase: "lost", online: false }, true)).toBe("offline");
  });
});
