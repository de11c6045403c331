// Ray's own token mode: nothing is shown without Ray's token, and signing in goes on to the view that was asked for.
import { connection, open, signIn } from "../support";
import { expect, ownCluster, test } from "../test";

const TOKEN = "a-token-of-the-specs-0123456789abcdef";
const cluster = ownCluster({ RAY_AUTH_MODE: "token", RAY_AUTH_TOKEN: TOKEN }, async (cluster) => {
  cluster.job("e2e/jobs/names.py");
});

test("sign-in with Ray's token leads to the view asked for", async ({ page }) => {
  const view = cluster().page("#/overview?job=01000000&state=idle");
  await page.goto(view);
  const dialog = page.getByTestId("sign-in");
  await expect(dialog).toContainText("Sign in with Ray's token");
  await expect(page.getByTestId("driver")).toHaveCount(0);

  await signIn(page, "not-the-token-of-this-cluster");
  await expect(dialog.getByRole("alert")).toHaveText("Ray doesn't accept this token.");
  await expect(dialog).toBeVisible();

  await signIn(page, TOKEN);
  await expect(dialog).toHaveCount(0);
  await expect(connection(page)).toHaveAttribute("data-state", "live");
  await expect(page).toHaveURL(view);
  await expect(page.getByTestId("job-select")).toHaveAttribute("data-job-id", "01000000", { timeout: 60_000 });
  await expect(page.locator('[data-testid="state-filter"][data-state-name="idle"]')).toHaveAttribute("aria-pressed", "true");
  await expect(page.getByTestId("role-badge")).toHaveAttribute("data-role", "debugger");

  // Ray's cookie holds: no second sign-in.
  await page.reload();
  await expect(connection(page)).toHaveAttribute("data-state", "live");
  await expect(dialog).toHaveCount(0);
});

test("a link with Ray's token signs in by itself", async ({ page }) => {
  await open(page, cluster().page(`#token=${TOKEN}`));
  await expect(page.getByTestId("role-badge")).toHaveAttribute("data-role", "debugger");
  expect(page.url()).not.toContain(TOKEN);
});
