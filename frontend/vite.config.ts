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
    rollupOptions: {
      // Libraries mark their files for React's server components, which we don't have.
      onwarn: (warning, warn) => warning.code !== "MODULE_LEVEL_DIRECTIVE" && warn(warning),
    },
  },
  test: {
    environment: "jsdom",
    setupFiles: ["test/setup.ts"],
    restoreMocks: true,
    css: { modules: { classNameStrategy: "non-scoped" } },
  },
});
