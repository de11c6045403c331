import { defineConfig } from "vitest/config";

// The hub serves index.html at /debug (no trailing slash) and the rest under /debug/assets/.
export default defineConfig({
  base: "/debug/",
  esbuild: { jsx: "automatic" },
  build: {
    outDir: "../backend/raydebug/static",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    target: "es2022",
    reportCompressedSize: true,
  },
  test: {
    environment: "jsdom",
    setupFiles: ["test/setup.ts"],
    restoreMocks: true,
    css: { modules: { classNameStrategy: "non-scoped" } },
  },
});
