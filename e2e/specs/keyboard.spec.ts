// Everything by keyboard; and names that are markup stay text.
import { connection, open, pausedSites } from "../support";
import { expect, ownCluster, test } from "../test";

const cluster = ownCluster({}, async (cluster) => {
  cluster.job("e2e/jobs/names.py");
});

test.beforeEach(async ({ page }) => {
  await open(page, cluster().page());
  await expect(pausedSites(page)).toHaveCount(2, { timeout: 90_000 });
});

test("j and k go from place to place, Esc lets go", async ({ page }) => {
  const [first, second] = [pausedSites(page).first(), pausedSites(page).last()];
  await page.keyboard.press("j");
  await expect(first).toHaveAttribute("data-selected", "true");
  await page.keyboard.press("j");
  await expect(second).toHaveAttribute("data-selected", "true");
  await expect(first).not.toHaveAttribute("data-selected");
  await page.keyboard.press("j");
  await expect(first).toHaveAttribute("data-selected", "true");
  await page.keyboard.press("k");
  await expect(second).toHaveAttribute("data-selected", "true");
  await page.keyboard.press("Escape");
  await expect(second).not.toHaveAttribute("data-selected");
  await expect(page).toHaveURL(cluster().page("#/overview"));
});

test("arrows move in the grid, Enter opens the rank, Esc closes", async ({ page }) => {
  const cells = page.getByRole("grid").getByRole("gridcell");
  await expect(cells).toHaveCount(3);
  await cells.first().focus();
  await page.keyboard.press("ArrowRight");
  await expect(cells.nth(1)).toBeFocused();
  await page.keyboard.press("End");
  await expect(cells.last()).toBeFocused();
  await page.keyboard.press("ArrowLeft");
  await expect(cells.nth(1)).toBeFocused();
  await page.keyboard.press("Home");
  await expect(cells.first()).toBeFocused();
  await page.keyboard.press("Enter");
  const details = page.getByTestId("actor-details");
  await expect(details).toContainText("rank-0");
  await expect(page).toHaveURL(/actor=/);
  await page.keyboard.press("Escape");
  await expect(details).toHaveCount(0);
});

test("? opens the help, Space freezes the view", async ({ page }) => {
  await page.keyboard.press("?");
  await expect(page.getByTestId("help")).toContainText("Next or previous paused place");
  await page.keyboard.press("Escape");
  await expect(page.getByTestId("help")).toHaveCount(0);
  await page.keyboard.press("Space");
  await expect(page.getByTestId("frozen-banner")).toBeVisible();
  await page.keyboard.press("Space");
  await expect(page.getByTestId("frozen-banner")).toHaveCount(0);
  await expect(connection(page)).toHaveAttribute("data-state", "live");
});

test("names that are markup stay text", async ({ page }) => {
  const hostile = page.getByTestId("actor").filter({ hasText: "<img src=x onerror=" });
  await expect(hostile).toHaveCount(1);
  await expect(hostile).toContainText('<b onclick="alert(1)">Hostile');
  await hostile.click();
  await expect(page.getByTestId("actor-details")).toContainText("<img src=x onerror=");
  await pausedSites(page).first().getByRole("button").click();
  await expect(page.locator("img")).toHaveCount(0);
  await expect(page.locator("[onclick], [onerror]")).toHaveCount(0);
  await expect(page).toHaveTitle("(2) raydebug");
});
