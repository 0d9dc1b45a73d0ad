import { defineConfig } from "vite";

// The server keeps the page in memory and sends it with a strict content security policy: no inline scripts, no data: fonts.
export default defineConfig({
  base: "./",
  build: {
    outDir: "../src/treadle/_server/static",
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
  },
  server: { proxy: { "/api": "http://127.0.0.1:8460", "/openapi.json": "http://127.0.0.1:8460" } },
});
