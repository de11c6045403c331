// `test` for specs on real clusters, and the cluster of a spec file.
import { test as base, expect } from "@playwright/test";
import { Cluster } from "./cluster";

interface Fixtures {
  /** What the page said on its console that it shouldn't; empty after each test. */
  complaints: string[];
}

export const test = base.extend<Fixtures>({
  complaints: [
    async ({ page }, use) => {
      const complaints: string[] = [];
      page.on("pageerror", (error) => complaints.push(error.message));
      page.on("console", (message) => {
        // The browser's own notes on refused requests and lost sockets: specs provoke them.
        const network = /^Failed to load resource|WebSocket connection to/.test(message.text());
        if (message.type() === "error" && !network) complaints.push(message.text());
      });
      await use(complaints);
      expect(complaints).toEqual([]);
    },
    { auto: true },
  ],
});

/** A cluster for the tests of one file. `ready` starts what all of them need. */
export function ownCluster(env: Record<string, string> = {}, ready?: (cluster: Cluster) => Promise<void>): () => Cluster {
  let cluster: Cluster | undefined;
  test.beforeAll(async () => {
    test.setTimeout(240_000);
    cluster = await Cluster.start(env);
    await ready?.(cluster);
  });
  test.afterAll(async () => {
    test.setTimeout(120_000);
    await cluster?.stop();
  });
  return () => {
    if (!cluster) throw new Error("the cluster is there in tests only");
    return cluster;
  };
}

export { expect };
