import { defineConfig } from "vite";

const outDir = "../src/treadle/_server/static";

// The server keeps the page in memory and sends it with a strict content security policy: no inline scripts, no data: fonts.
// `--mode export` makes of the same parts the script and the style of exported files: one of each, with everything in it.
export default defineConfig(({ mode }) => ({
  base: "./",
  publicDir: mode === "export" ? false : "public",
  build: {
    outDir: mode === "export" ? `${outDir}/exported` : outDir,
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
    ...(mode === "export" && { lib: { entry: "src/exported.tsx", formats: ["iife"], name: "exported", fileName: () => "page.js", cssFileName: "page" } }),
  },
  server: { proxy: { "/api": "http://127.0.0.1:8460", "/openapi.json": "http://127.0.0.1:8460" } },
}));
