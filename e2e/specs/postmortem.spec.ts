// A crash that Ray's post-mortem holds, looked into from the page.
import { open } from "../support";
import { expect, ownCluster, test } from "../test";

const cluster = ownCluster({}, async (cluster) => {
  cluster.demo("--ranks", "2", "--crash", "2:1");
  const kinds = async () =>
    (JSON.parse(await cluster.raydebug("paused", "--json")) as { sites: { kind: string }[] }).sites.map(
      (one) => one.kind,
    );
  await expect.poll(kinds, { message: "a crash", timeout: 180_000, intervals: [1000] }).toEqual(["exception"]);
});

test("a crash: the exception, its stack and variables, and an evaluation in its frame", async ({ page }) => {
  await open(page, await cluster().raydebug("url"));
  await page.getByRole("link", { name: "Debugger" }).click();
  await page.getByTestId("place-member").first().click();
  await expect(page.getByTestId("exception")).toContainText("RuntimeError", { timeout: 30_000 });
  await expect(page.getByTestId("exception")).toContainText("crash planted by --crash");
  await expect(page.getByTestId("frame").first()).toContainText("update_actor");
  await expect(page.getByTestId("code")).toContainText("raise RuntimeError");
  await expect(page.getByTestId("variables").locator('[data-name="here"]')).toContainText("step=2, rank=1");
  await page.getByTestId("prompt").click();
  await page.keyboard.type("here.step * 10 + len(batch)");
  await page.keyboard.press("Enter");
  const results = page.locator('[data-testid="console-entry"][data-kind="result"]');
  await expect(results.last()).toContainText(/^\D*2\d/);
  await page.keyboard.press("F5");
  await expect(page.getByTestId("place-member")).toHaveCount(0, { timeout: 30_000 });
});
