// The debugger, whole: a demo that stops at its breakpoint is attached to, looked at, stepped and let go on.
import type { Locator, Page } from "@playwright/test";
import type { Cluster } from "../cluster";
import { open } from "../support";
import { expect, ownCluster, test } from "../test";

type Job = ReturnType<Cluster["demo"]>;

let training: Job;
const cluster = ownCluster({}, async (cluster) => {
  training = cluster.demo("--ranks", "2", "--breakpoint", "4:1");
  const count = async () =>
    (JSON.parse(await cluster.raydebug("paused", "--json")) as { sites: unknown[] }).sites.length;
  await expect.poll(count, { message: "a paused place", timeout: 180_000, intervals: [1000] }).toBe(1);
});

/** Seconds that each step of the demo took, by what it printed. */
const seconds = (): number[] =>
  [...training.output.matchAll(/^step \d+ .*seconds (\d+\.\d+)/gm)].map((m) => Number(m[1]));
const code = (page: Page): Locator => page.getByTestId("code");
const variable = (page: Page, name: string): Locator => page.getByTestId("variables").locator(`[data-name="${name}"]`);
const prompt = (page: Page): Locator => page.getByTestId("prompt");
const said = (page: Page, kind: string): Locator => page.locator(`[data-testid="console-entry"][data-kind="${kind}"]`);
const stands = (page: Page): Locator => page.getByTestId("frame").first();

async function evaluate(page: Page, text: string): Promise<void> {
  await prompt(page).click();
  await page.keyboard.type(text);
  await page.keyboard.press("Enter");
}

/** A click left of a line's number, where breakpoints are set. */
async function clickGutter(page: Page, text: string): Promise<void> {
  const line = await page.locator(".cm-line").filter({ hasText: text }).first().boundingBox();
  const gutter = await page.locator(".cm-lineNumbers").boundingBox();
  if (line === null || gutter === null) throw new Error(`${text} isn't on the screen`);
  await page.mouse.click(gutter.x - 8, line.y + line.height / 2);
}

test("breakpoint, attach, evaluate, gutter breakpoint, step, continue, and training goes on at its speed", async ({
  page,
}) => {
  test.setTimeout(240_000);
  await open(page, await cluster().raydebug("url"));
  await page.getByRole("link", { name: "Debugger" }).click();
  await expect(page.getByTestId("places")).toContainText("workers.py");
  await page.getByTestId("place-member").first().click();

  // Attached: where it stands, what is there.
  await expect(stands(page)).toContainText("update_actor", { timeout: 30_000 });
  await expect(code(page)).toContainText("breakpoint()");
  await expect(variable(page, "step")).toContainText("4");
  await expect(variable(page, "log_probs")).toContainText("Tensor");
  await expect(page).toHaveURL(/worker=[0-9a-f]{56}/);

  // The console: a value, statements, an error; history.
  await evaluate(page, "step * 100 + 7");
  await expect(said(page, "result").last()).toContainText("407");
  await evaluate(page, "answer = step + 38");
  await evaluate(page, "answer");
  await expect(said(page, "result").last()).toContainText("42");
  await evaluate(page, "1 / 0");
  await expect(said(page, "error").last()).toContainText("ZeroDivisionError");
  await page.keyboard.press("ArrowUp");
  await expect(prompt(page)).toHaveValue("1 / 0");

  // Reload: the same session.
  await page.reload();
  await expect(stands(page)).toContainText("update_actor");
  await expect(said(page, "error").last()).toContainText("ZeroDivisionError");

  // A breakpoint in the gutter hits on the way.
  await clickGutter(page, "measured.append(");
  await expect(page.getByTestId("breakpoint")).toHaveCount(1);
  await page.keyboard.press("F5");
  await expect(page.getByTestId("breakpoint")).toContainText("1 hit", { timeout: 60_000 });
  await expect(variable(page, "grad_norm")).toBeVisible();

  // Steps.
  await page.keyboard.press("F10");
  await expect(variable(page, "measured")).toContainText(/len [1-9]/);
  await expect(code(page)).toBeVisible();

  // Without breakpoints it goes on, at its old speed, and stays attached.
  await page
    .getByTestId("breakpoint")
    .getByRole("button", { name: /Remove/ })
    .click();
  await expect(page.getByTestId("breakpoint")).toHaveCount(0);
  const before = seconds().slice(1);
  await page.keyboard.press("F5");
  await expect.poll(() => seconds().length, { timeout: 120_000 }).toBeGreaterThanOrEqual(9);
  const fastest = (of: number[]) => Math.min(...of);
  const after = seconds().slice(4);
  console.log(`fastest step: ${fastest(before)} s before the breakpoint, ${fastest(after)} s after it`);
  // A worker that is still traced takes 8 times as long; a busy machine doesn't, in the best of five.
  expect(fastest(after) / fastest(before)).toBeLessThan(3);
});
