// The hub is killed while somebody looks: the page comes back by itself with the same content.
import { connection, expectRank, group, open, pausedSites } from "../support";
import { expect, ownCluster, test } from "../test";

const cluster = ownCluster({}, async (cluster) => {
  cluster.demo("--ranks", "2", "--breakpoint", "2:1");
});

test("the page outlives a hub that is killed", async ({ page }) => {
  test.setTimeout(300_000);
  await open(page, cluster().page());
  await expect(pausedSites(page)).toHaveCount(1, { timeout: 150_000 });
  const actors = group(page, "actor_rollout");
  await expectRank(actors, 1, "paused");
  const site = await pausedSites(page).getAttribute("data-site-id");
  const groups = await page.getByTestId("group").count();
  const before = await cluster().hubPid();
  // A short loss isn't shown: only the hub's id tells that the stream has come back.
  const oldHub = (await connection(page).getAttribute("data-hub")) ?? "";
  expect(oldHub).not.toBe("");

  process.kill(before, "SIGKILL");
  const killed = Date.now();
  // What was known stays in sight while the hub is away.
  await expect(pausedSites(page)).toHaveCount(1);
  await expect(page.getByTestId("group")).toHaveCount(groups);

  let after = before;
  await expect
    .poll(
      async () => {
        after = await cluster()
          .hubPid()
          .catch(() => before);
        return after !== before;
      },
      { message: "a new hub", timeout: 60_000, intervals: [100] },
    )
    .toBe(true);
  const restarted = Date.now();
  await expect(connection(page)).not.toHaveAttribute("data-hub", oldHub, { timeout: 60_000 });
  await expect(connection(page)).toHaveAttribute("data-hub", /./, { timeout: 60_000 });
  await expect(connection(page)).toHaveAttribute("data-state", "live");
  await expect(page.getByTestId("stale-banner")).toHaveCount(0);
  const live = Date.now();
  await expect(pausedSites(page)).toHaveAttribute("data-site-id", site ?? "", { timeout: 60_000 });
  await expectRank(actors, 0, "running");
  await expectRank(actors, 1, "paused");
  await expect(page.getByTestId("group")).toHaveCount(groups);
  const whole = Date.now();
  console.log(`hub killed: a new one after ${restarted - killed} ms, page live ${live - killed} ms, whole ${whole - killed} ms`);
});
