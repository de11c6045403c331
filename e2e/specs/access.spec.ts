// Who may what without Ray's token mode: anonymous by reaching the port, debugger by the link that `raydebug url` prints.
import { open, signIn } from "../support";
import { expect, ownCluster, test } from "../test";

const cluster = ownCluster();

test("anonymous, then debugger by the link", async ({ page }) => {
  const badge = page.getByTestId("role-badge");
  await open(page, cluster().page());
  await expect(badge).toHaveText("Anonymous");
  await expect(page.getByText("No job runs on this cluster")).toBeVisible();

  const link = await cluster().raydebug("url");
  const token = link.split("#token=")[1] ?? "";
  expect(token.length).toBeGreaterThan(30);
  // Pasted into the tab that is open already: only the fragment changes.
  await page.goto(link);
  await expect(badge).toHaveText("Debugger");
  await expect(page).toHaveURL(cluster().page("#/overview"));
  expect(await page.evaluate(() => window.location.href)).not.toContain(token);

  await page.reload();
  await expect(badge).toHaveText("Debugger");
});

test("the link opened in a new tab", async ({ page }) => {
  const link = await cluster().raydebug("url");
  await open(page, `${link}&to=/overview?state=idle`);
  await expect(page.getByTestId("role-badge")).toHaveText("Debugger");
  await expect(page).toHaveURL(cluster().page("#/overview?state=idle"));
});

test("a wrong token is refused in words, the right one taken, and signing out makes anonymous", async ({ page }) => {
  await open(page, cluster().page());
  await signIn(page, "not-the-token-of-this-cluster");
  const dialog = page.getByTestId("sign-in");
  await expect(dialog.getByRole("alert")).toContainText("This token isn't accepted");
  await expect(page.getByTestId("role-badge")).toHaveText("Anonymous");

  await signIn(page, await cluster().raydebug("url", "--token-only"));
  await expect(dialog).toHaveCount(0);
  await expect(page.getByTestId("role-badge")).toHaveText("Debugger");

  await page.getByTestId("role-badge").click();
  await dialog.getByRole("button", { name: "Sign out" }).click();
  await expect(page.getByTestId("role-badge")).toHaveText("Anonymous");
});

test("a link whose token is old says so, and lets one go on without", async ({ page }) => {
  await page.goto(cluster().page("#token=an-old-token-0123456789"));
  const dialog = page.getByTestId("sign-in");
  await expect(dialog.getByRole("alert")).toContainText("isn't accepted any more");
  await dialog.getByRole("button", { name: "Go on without signing in" }).click();
  await expect(page.getByTestId("role-badge")).toHaveText("Anonymous");
});
