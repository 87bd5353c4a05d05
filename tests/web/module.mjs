// module.mjs - a module of the page's sources, for checks that need no browser page
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const { buildSync } = createRequire(new URL("../../web/package.json", import.meta.url))("esbuild");

/** Returns the exports of `path`, which is below web/src. */
export function moduleOf(path) {
  const source = fileURLToPath(new URL(`../../web/src/${path}`, import.meta.url));
  const [built] = buildSync({ entryPoints: [source], bundle: true, format: "esm", write: false }).outputFiles;
  return import(`data:text/javascript,${encodeURIComponent(built.text)}`);
}
