// A training job that stops at a breakpoint: what the page says of it, and that the command line says the same.
import type { Cluster } from "../cluster";
import { connection, expectRank, group, headline, open, pausedSites, rank } from "../support";
import { expect, ownCluster, test } from "../test";

interface Site {
  site_id: string;
  kind: string;
  file: string;
  line: number;
  function: string;
  members: { group: string; rank: number; task_name: string }[];
}

const paused = async (cluster: Cluster): Promise<Site[]> => {
  const answer = JSON.parse(await cluster.raydebug("paused", "--json")) as { sites: Site[] };
  return answer.sites;
};

const cluster = ownCluster({}, async (cluster) => {
  cluster.demo("--ranks", "2", "--breakpoint", "2:1");
  const count = async () => (await paused(cluster)).length;
  await expect.poll(count, { message: "a paused place", timeout: 150_000, intervals: [1000] }).toBe(1);
});

test("the page shows who is held, and where", async ({ page }) => {
  const [site] = (await paused(cluster())) as [Site];
  await open(page, cluster().page());

  await expect(headline(page)).toHaveAttribute("data-tone", "paused");
  await expect(headline(page)).toContainText("update_actor is held by a breakpoint");
  await expect(headline(page)).toContainText(`workers.py:${site.line} on actor_rollout rank 1`);
  await expect(page).toHaveTitle("(1) raydebug");

  const actors = group(page, "actor_rollout");
  await expect(actors).toContainText("2 ranks");
  await expectRank(actors, 0, "running");
  await expectRank(actors, 1, "paused");
  await expect(group(page, "ref")).toBeVisible();
  await expect(group(page, "reward")).toBeVisible();
  await expect(page.getByTestId("maker")).toContainText("TaskRunner");
  await expect(page.getByTestId("driver")).toHaveAttribute("data-state", "waiting");

  await expect(pausedSites(page)).toHaveCount(1);
  await expect(pausedSites(page)).toContainText(`workers.py:${site.line}`);
  await expect(pausedSites(page)).toContainText("ActorRolloutWorker.update_actor");
  await expect(pausedSites(page)).toContainText("rank 1");
});

test("a selected place is in the URL and survives a reload", async ({ page }) => {
  await open(page, cluster().page());
  const id = await pausedSites(page).getAttribute("data-site-id");
  await pausedSites(page).getByRole("button").click();
  await expect(page).toHaveURL(new RegExp(`#/overview\\?.*site=${id}`));
  await expect(rank(group(page, "actor_rollout"), 1)).toHaveAttribute("data-mark", "hit");
  await expect(rank(group(page, "actor_rollout"), 0)).toHaveAttribute("data-mark", "dim");

  await page.reload();
  await expect(connection(page)).toHaveAttribute("data-state", "live");
  await expect(pausedSites(page)).toHaveAttribute("data-selected", "true");
  await expect(rank(group(page, "actor_rollout"), 1)).toHaveAttribute("data-mark", "hit");
});

test("raydebug paused says the same place", async ({ page }) => {
  const [site] = (await paused(cluster())) as [Site];
  expect(site).toMatchObject({ kind: "breakpoint", function: "ActorRolloutWorker.update_actor" });
  expect(site.file).toMatch(/demo\/workers\.py$/);
  expect(site.members).toMatchObject([{ group: "actor_rollout", rank: 1, task_name: "update_actor" }]);
  await open(page, cluster().page());
  await expect(pausedSites(page)).toHaveAttribute("data-site-id", site.site_id);
});
