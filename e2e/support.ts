// How specs find things on the page. Locators go by data-testid and data-*, or by accessible name where a user would
// read it; never by class (CSS modules change them) and never by position.
//
//   connection    data-state: live, stale, offline; data-hub: which run of the hub the stream comes from, if it flows
//   role-badge    data-role: anonymous, viewer, debugger
//   job-select    data-job-id: the job that is shown; its menu items carry data-job-id too
//   sign-in       the dialog, by itself where nothing can be seen without a credential, else behind role-badge
//   headline      the one sentence, with data-tone: its state
//   state-filter  data-state-name; aria-pressed
//   driver, maker, actor   data-state, data-actor-id (not driver)
//   group         data-group-id; its accessible name is the group's
//   rank-cell     data-rank ("" where unknown), data-state ("unknown" where not seen yet), data-actor-id,
//                 data-mark: none, selected, hit (member of the selected site), dim
//   paused-site   data-site-id, data-selected
//   actor-details, nodes (node: data-node-id, data-alive, data-helper), sources, stale-banner, frozen-banner, no-hub
import { expect, type Locator, type Page } from "@playwright/test";

export type RankState = "running" | "idle" | "waiting" | "paused" | "failed" | "dead" | "pending" | "unknown";

/** Opens the page at a view (`cluster.page("#/overview?job=01000000")`) and waits until the stream is live. */
export async function open(page: Page, url: string): Promise<void> {
  await page.goto(url);
  await expect(connection(page)).toHaveAttribute("data-state", "live");
}

export const connection = (page: Page): Locator => page.getByTestId("connection");

export const headline = (page: Page): Locator => page.getByTestId("headline");

export const group = (page: Page, name: string): Locator => page.getByRole("region", { name, exact: true }).and(page.getByTestId("group"));

export const rank = (inside: Page | Locator, number: number): Locator =>
  inside.locator(`[data-testid="rank-cell"][data-rank="${number}"]`);

export const pausedSites = (page: Page): Locator => page.getByTestId("paused-site");

export async function expectRank(inside: Page | Locator, number: number, state: RankState): Promise<void> {
  await expect(rank(inside, number)).toHaveAttribute("data-state", state);
}

/** Shows another job through the selector of the top bar. */
export async function selectJob(page: Page, jobId: string): Promise<void> {
  await page.getByTestId("job-select").click();
  await page.locator(`[role="menuitemradio"][data-job-id="${jobId}"]`).click();
  await expect(page.getByTestId("job-select")).toHaveAttribute("data-job-id", jobId);
}

/** Signs in through the dialog, opened by the role badge unless it is open already. */
export async function signIn(page: Page, token: string): Promise<void> {
  const dialog = page.getByTestId("sign-in");
  if (!(await dialog.isVisible())) await page.getByTestId("role-badge").click();
  await dialog.getByRole("textbox", { name: "Token" }).fill(token);
  await dialog.getByRole("button", { name: "Sign in" }).click();
}
