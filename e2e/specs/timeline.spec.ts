// The timeline of a job that runs: lanes, a task and all that is known of it, search, what failed, and the URL.
import type { Locator, Page } from "@playwright/test";
import { open } from "../support";
import { expect, ownCluster, test } from "../test";

const cluster = ownCluster({}, async (cluster) => {
  cluster.job("e2e/jobs/steps.py");
});

const lane = (page: Page, name: string): Locator =>
  page.getByTestId("lanes").getByRole("treeitem").filter({ hasText: name }).first();
const details = (page: Page): Locator => page.getByTestId("task-details");
const search = (page: Page): Locator => page.getByRole("combobox", { name: /Search method/ });

test.beforeEach(async ({ page }) => {
  await open(page, cluster().page());
  await page.getByRole("link", { name: "Timeline" }).click();
  await expect(page.getByTestId("timeline")).toBeVisible({ timeout: 90_000 });
  await expect(lane(page, "Rank")).toBeVisible({ timeout: 60_000 });
});

test("groups fold and unfold to their ranks", async ({ page }) => {
  const group = lane(page, "Rank");
  if ((await group.getAttribute("aria-expanded")) !== "true") await group.click();
  await expect(group).toHaveAttribute("aria-expanded", "true");
  const ranks = page.locator('[data-testid="lane"][data-lane^="rank:"]');
  await expect(ranks).toHaveCount(2);
  await group.click();
  await expect(ranks).toHaveCount(0);
});

test("search finds a task; its details say what is known; the link opens the same", async ({ page }) => {
  await page.keyboard.press("/");
  await expect(search(page)).toBeFocused();
  await page.keyboard.type("generate");
  await expect(page.getByRole("option").first()).toContainText("Rank.generate");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await expect(details(page)).toContainText("Rank.generate");
  await expect(details(page)).toContainText("finished", { timeout: 20_000 });
  await expect(details(page)).toContainText(/Ran\s*\d+(\.\d+)? ms/);
  await expect(details(page)).toContainText("Same call on 2 ranks");
  await expect(page.getByTestId("timeline-said")).toContainText("Selected");
  await expect(page).toHaveURL(/task=[0-9a-f]{48}:0/); // the URL follows a moment later
  const id = new URL(page.url().replace("#/", "")).searchParams.get("task");
  await page.reload();
  await expect(details(page)).toContainText("Rank.generate");
  expect(page.url()).toContain(`task=${id}`);
  await page.keyboard.press("p");
  await expect(details(page)).not.toContainText("Rank.generate");
  await page.keyboard.press("Escape");
  await expect(details(page)).toHaveCount(0);
});

test("n goes to what failed, round and round; messages are for who may read them", async ({ page }) => {
  await expect(page.getByTestId("tool-row")).toContainText("2 failed", { timeout: 30_000 });
  const seen: string[] = [];
  for (let i = 0; i < 2; i++) {
    const before = page.url();
    await page.keyboard.press("n");
    await expect.poll(() => page.url()).not.toBe(before);
    await expect(details(page)).toContainText("failed");
    await expect(details(page)).toContainText("TASK_EXECUTION_EXCEPTION");
    await expect(details(page)).toContainText("The message is for who has signed in");
    await expect(details(page)).not.toContainText("breaks");
    seen.push((await details(page).textContent()) ?? "");
  }
  expect(seen.join()).toContain("Rank.break_down");
  expect(seen.join()).toContain("flaky");
});

test("who has signed in reads the message, as text", async ({ page }) => {
  const token = await cluster().raydebug("url", "--token-only");
  await page.goto("about:blank");
  await open(page, cluster().page(`#token=${token}&to=/timeline`));
  await expect(page.getByTestId("tool-row")).toContainText("2 failed", { timeout: 30_000 });
  await search(page).fill("break_down");
  await expect(page.getByRole("option")).toHaveCount(1);
  await search(page).press("Enter");
  await expect(details(page)).toContainText("<b>this one</b> breaks");
});

test("both attempts of a retried task are there", async ({ page }) => {
  await search(page).fill("flaky");
  await expect(page.getByRole("option")).toHaveCount(2);
  await search(page).press("Enter");
  await expect(details(page).getByRole("button", { name: /^[12]$/ })).toHaveCount(2);
  await details(page).getByRole("button", { name: "1", exact: true }).click();
  await expect(details(page)).toContainText("failed");
  await details(page).getByRole("button", { name: "2", exact: true }).click();
  await expect(details(page)).toContainText("finished");
});

test("steps are inferred and can be gone to; following ends and comes back", async ({ page }) => {
  const follow = page.getByRole("switch", { name: "Follow live" });
  await expect(follow).toHaveAttribute("aria-checked", "true");
  const fit = page.getByRole("button", { name: "Fit step" });
  await expect(fit).toBeEnabled({ timeout: 30_000 });
  await fit.click();
  await expect(follow).toHaveAttribute("aria-checked", "false");
  await expect(page).toHaveURL(/from=\d+&to=\d+/);
  const before = page.url();
  await page.keyboard.press("[");
  await expect.poll(() => page.url()).not.toBe(before);
  await follow.click();
  await expect(follow).toHaveAttribute("aria-checked", "true");
  await expect(page).not.toHaveURL(/from=/);
});
