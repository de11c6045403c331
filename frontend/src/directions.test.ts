// @vitest-environment node
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { expect, it } from "vitest";

const SRC = resolve(import.meta.dirname);

/** What a part of the front end may import of the others. */
const MAY: Record<string, string[]> = {
  "main.tsx": ["app", "api", "ui", "i18n"],
  app: ["features", "api", "ui", "i18n"],
  features: ["api", "ui", "i18n"],
  ui: ["api", "i18n"],
  i18n: ["api"],
  api: [],
};

const files = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? files(join(folder, entry.name)) : [join(folder, entry.name)],
  );

it("imports go in the directions of the design", () => {
  const wrong: string[] = [];
  for (const file of files(SRC).filter((name) => /\.tsx?$/.test(name) && !name.includes(".test."))) {
    const from = relative(SRC, file).split("/");
    const part = from[0] ?? "";
    for (const [, path] of readFileSync(file, "utf8").matchAll(/from "(\.[^"]+)"|import "(\.[^"]+)"/g)) {
      const to = relative(SRC, resolve(dirname(file), path ?? "")).split("/");
      const sameFeature = part === "features" && to[0] === "features" && to[1] === from[1];
      if (path && to[0] !== part && !MAY[part]?.includes(to[0] ?? "")) wrong.push(`${from.join("/")} -> ${path}`);
      if (path && part === "features" && to[0] === "features" && !sameFeature)
        wrong.push(`${from.join("/")} -> ${path}`);
    }
  }
  expect(wrong).toEqual([]);
});
