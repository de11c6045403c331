// A tool for developing the page: screenshots of the made-up scenes. `node dev/shots.mjs [out folder] [filter] [port]`
// Needs dev/server.mjs running and `npm ci` in e2e/.
import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(join(import.meta.dirname, "../../e2e/package.json"));
const { chromium } = require("@playwright/test");
const [out = "/tmp/raydebug-shots", filter = "", port = 5175] = process.argv.slice(2);
const SHOTS = [
  ["verl-light", "verl", 1440, 900, "light", ""],
  ["verl-dark", "verl", 1440, 900, "dark", ""],
  ["verl-1200", "verl", 1200, 800, "light", ""],
  ["verl-1200-drawer", "verl", 1200, 800, "dark", "#/overview?site=s1"],
  ["verl-1920", "verl", 1920, 1080, "light", ""],
  ["verl-selected", "verl", 1440, 900, "light", "#/overview?site=s2&failed=1"],
  ["verl-details", "verl", 1440, 900, "dark", "", '[data-state="failed"]'],
  ["verl-filter", "verl", 1440, 900, "light", "#/overview?state=failed,dead"],
  ["verl-ended", "verl", 1440, 900, "light", "#/overview?job=01000000"],
  ["large-light", "large", 1440, 900, "light", ""],
  ["large-dark", "large", 1920, 1080, "dark", ""],
  ["demo-light", "demo", 1440, 900, "light", ""],
  ["nested-light", "nested", 1440, 900, "light", ""],
  ["nested-dark", "nested", 1200, 800, "dark", ""],
  ["empty-light", "empty", 1440, 900, "light", ""],
  ["refuse", "refuse", 1440, 900, "light", ""],
  ["ray", "ray", 1440, 900, "dark", ""],
  ["silent", "silent", 1440, 900, "light", ""],
  ["account", "demo", 1440, 900, "light", "", '[data-testid="role-badge"]'],
  ["timeline-light", "verl", 1440, 900, "light", "#/timeline?span=356000"],
  ["timeline-dark", "verl", 1440, 900, "dark", "#/timeline?span=356000"],
  ["timeline-demo-light", "demo", 1440, 900, "light", "#/timeline?span=60000"],
  ["timeline-demo-dark", "demo", 1200, 800, "dark", "#/timeline?span=20000"],
  ["timeline-dense-light", "dense", 1440, 900, "light", "#/timeline?lanes=group:dense"],
  ["timeline-dense-dark", "dense", 1440, 900, "dark", "#/timeline?lanes=group:dense&span=20000"],
  ["timeline-large", "large", 1440, 900, "light", "#/timeline"],
  ["timeline-empty", "empty", 1440, 900, "light", "#/timeline"],
  ["jobs", "verl", 1440, 900, "dark", "", '[data-testid="job-select"]'],
];
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM_PATH ?? "/usr/bin/chromium",
  args: "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync".split(
    " ",
  ),
});
for (const [name, scene, width, height, colorScheme, hash, click] of SHOTS) {
  if (!name.includes(filter)) continue;
  const page = await browser.newPage({ viewport: { width, height }, colorScheme });
  page.on("console", (m) => ["error", "warning"].includes(m.type()) && console.log(name, m.text()));
  page.on("pageerror", (e) => console.log(name, e.message));
  await page.goto(`http://localhost:${port}/${scene}/debug${hash}`);
  await page.waitForTimeout(scene === "silent" ? 4500 : 900);
  if (click) await page.locator(click).first().click();
  await page.waitForTimeout(250);
  await page.screenshot({ path: join(out, `${name}.png`) });
  await page.close();
}
await browser.close();
