// A tool for developing the page: how long the work of a frame takes on the timeline of the made-up scene `dense`
// (100,000 tasks, 40 lanes), in a real browser without a GPU. `node dev/frames.mjs [port]`; needs dev/server.mjs running.
import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(join(import.meta.dirname, "../../e2e/package.json"));
const { chromium } = require("@playwright/test");
const port = process.argv[2] ?? "5175";
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM_PATH ?? "/usr/bin/chromium",
  args: "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync".split(
    " ",
  ),
});

const part = (list, share) => {
  const sorted = [...list].sort((a, b) => a - b);
  return sorted.length === 0 ? "-" : sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))].toFixed(1);
};

/** CPU time of the page's thread, so that other programs of the machine don't count: of the frames that drew anew. */
async function measure(what, span, act, ratio = 1) {
  const page = await browser.newPage({ viewport: { width: 1440, height: 1080 }, deviceScaleFactor: ratio });
  await page.goto(`http://localhost:${port}/dense/debug#/timeline?span=${span}&lanes=group:dense&only=group:dense`);
  await page.waitForTimeout(3000);
  await browser.startTracing(page, { categories: ["toplevel", "devtools.timeline"] });
  await act(page);
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString());
  await page.close();
  const fired = traceEvents.filter((e) => e.name === "FireAnimationFrame" && e.tdur !== undefined);
  const threads = new Map();
  for (const e of fired) threads.set(e.tid, [...(threads.get(e.tid) ?? []), e]);
  const frames = [...threads.values()].sort((a, b) => b.length - a.length)[0] ?? [];
  const drawn = frames.filter((e) => e.tdur > 400);
  const tasks = traceEvents.filter(
    (e) => e.name.endsWith("RunTask") && e.tid === frames[0]?.tid && e.pid === frames[0]?.pid,
  );
  const whole = tasks.filter((task) => drawn.some((e) => e.ts >= task.ts && e.ts < task.ts + task.dur));
  const ms = (list) => list.map((e) => e.tdur / 1000);
  const other = tasks.filter((task) => !frames.some((e) => e.ts >= task.ts && e.ts < task.ts + task.dur));
  console.log(
    `${what}: ${drawn.length} frames drew; script p50 ${part(ms(drawn), 0.5)} p95 ${part(ms(drawn), 0.95)} ` +
      `max ${part(ms(drawn), 1)} ms; with layout and paint p95 ${part(ms(whole), 0.95)} ms; ` +
      `other tasks p99 ${part(ms(other), 0.99)} max ${part(ms(other), 1)} ms`,
  );
}

const drag = async (page) => {
  await page.mouse.move(900, 500);
  await page.mouse.down();
  for (let i = 0; i < 200; i++) await page.mouse.move(900 + 300 * Math.sin(i / 12), 500);
  await page.mouse.up();
};
const wheel = async (page) => {
  await page.mouse.move(900, 500);
  await page.keyboard.down("Shift");
  for (let i = 0; i < 80; i++) await page.mouse.wheel(0, i % 40 < 20 ? 60 : -60);
  await page.keyboard.up("Shift");
};
const wait = (page) => page.waitForTimeout(4000);

await measure("panning, 20 minutes seen (pixels)", 1_200_000, drag);
await measure("panning, 1 minute seen (rectangles)", 60_000, drag);
await measure("panning, 3 minutes seen (both)", 180_000, drag);
await measure("following, 20 minutes seen", 1_200_000, wait);
await measure("following, 10 seconds seen", 10_000, wait);
await measure("following, 1 minute seen", 60_000, wait);
await measure("zooming", 60_000, wheel);
await measure("panning, 20 minutes seen, two device pixels a pixel", 1_200_000, drag, 2);
await browser.close();
