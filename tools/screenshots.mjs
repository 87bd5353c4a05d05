// screenshots.mjs - the pictures of docs/page.md, made from the demo's recording by a real Chromium
// node tools/screenshots.mjs PAGE DIFFERENCE FOLDER [DURATIONS]   PAGE: of `heapwright report -o`, DIFFERENCE: of
// `heapwright diff -o`, or -; DURATIONS: of a recording with durations
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const { chromium } = createRequire(new URL("../web/package.json", import.meta.url))("playwright-core");
const [page, difference, folder, durations] = process.argv.slice(2);
if (folder === undefined) {
  console.error("usage: screenshots.mjs PAGE DIFFERENCE|- FOLDER [DURATIONS]");
  process.exit(2);
}

const PICTURES = [
  { name: "overview", fragment: "#overview", theme: "light" },
  { name: "timeline", fragment: "#timeline", theme: "light" },
  { name: "flame", fragment: "#flame?cost=bytes", theme: "dark" },
  { name: "sandwich", fragment: "#flame?cost=bytes&mode=sandwich", theme: "light" },
  { name: "leaks", fragment: "#leaks", theme: "light" },
  { name: "sizes", fragment: "#sizes", theme: "dark" },
  { name: "threads", fragment: "#threads", theme: "light" },
  { name: "lifetimes", fragment: "#lifetimes", theme: "light" },
  ...(durations === undefined ? [] : [{ name: "durations", fragment: "#durations", theme: "light", file: durations }]),
  ...(difference === "-" ? [] : [{ name: "difference", fragment: "#flame?cost=bytes", theme: "light", file: difference }]),
];

const browser = await chromium.launch({ executablePath: process.env.HW_CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
for (const { name, fragment, theme, file = page } of PICTURES) {
  const tab = await browser.newPage({ viewport: { width: 1280, height: 800 }, colorScheme: theme });
  await tab.goto(pathToFileURL(resolve(file)).href + fragment);
  await tab.waitForTimeout(500); // for what is drawn after the first frame
  await tab.screenshot({ path: join(folder, `${name}.png`) });
  await tab.close();
}
await browser.close();
