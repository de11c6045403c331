import { describe, expect, it } from "vitest";
import { tickLabel, ticks } from "./ruler";
import { clockTime, duration } from "./times";

const at = (text: string) => new Date(`2026-03-04T${text}`).getTime() * 1e6;

describe("ruler", () => {
  it("has round local times, never closer than there is room", () => {
    for (const span of [2e6, 50e6, 1e9, 37e9, 300e9, 3600e9, 86_400e9, 20 * 86_400e9]) {
      const from = at("10:00:07.123");
      const { list, step } = ticks(from, from + span, 1160);
      expect(list.length).toBeGreaterThan(4);
      const labels = list.filter((tick) => tick.label !== null);
      expect(labels.length).toBeLessThanOrEqual(14);
      expect(labels.length).toBeGreaterThanOrEqual(2);
      const [a = { ns: 0 }, b = { ns: 0 }] = labels;
      expect((b.ns - a.ns) / step).toBeCloseTo(1, 2);
    }
  });

  it("stands at whole minutes and hours of this zone", () => {
    const { list } = ticks(at("10:00:07"), at("10:05:07"), 1160);
    expect(list.filter((tick) => tick.label).map((tick) => tick.label)).toContain("10:01:00");
    expect(tickLabel(at("18:00:00"), 3600e9)).toBe("18:00");
    expect(tickLabel(at("00:00:00"), 86_400e9)).toBe("04.03.");
  });

  it("says offsets below a millisecond", () => {
    const whole = at("10:00:00.250");
    expect(tickLabel(whole, 2e5)).toBe("10:00:00.250");
    expect(tickLabel(whole + 200_000, 2e5)).toBe("+200 µs");
  });
});

describe("times", () => {
  it("are as exact as what they belong to", () => {
    const t = at("14:32:08.204");
    expect(clockTime(t, 3600e9)).toBe("14:32:08");
    expect(clockTime(t, 60e9)).toBe("14:32:08.2");
    expect(clockTime(t, 1e9)).toBe("14:32:08.204");
    expect([830e3, 12.4e6, 61.2e9, 275e9, 51_720e9, 273_600e9].map(duration)).toEqual([
      "830 µs",
      "12.4 ms",
      "61.2 s",
      "4 m 35 s",
      "14 h 22 m",
      "3 d 4 h",
    ]);
  });
});
