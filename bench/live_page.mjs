// live_page.mjs - how long the page of a running program holds up its browser while its figures change
//
// node live_page.mjs ADDRESS SECONDS   Prints JSON: by view, the tasks of the main thread of 50 ms and more, and the updates.
import { createRequire } from "node:module";

const fromWeb = createRequire(new URL("../web/package.json", import.meta.url));
const { chromium } = fromWeb("playwright-core");
const [address, seconds] = [process.argv[2], Number(process.argv[3])];
const SETTLED_MS = 3000;

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
const found = {};
for (const view of ["overview", "flame", "sizes"]) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  let updates = 0;
  page.on("response", (response) => (updates += Number(response.url().includes("/document"))));
  await page.goto(`${address}#${view}`);
  await page.waitForSelector("header.head");
  await page.waitForTimeout(SETTLED_MS);
  await page.evaluate(() => {
    window.tasks = [];
    new PerformanceObserver((list) => window.tasks.push(...list.getEntries().map((entry) => entry.duration))).observe({ entryTypes: ["longtask"] });
  });
  updates = 0;
  await page.waitForTimeout(seconds * 1000);
  found[view] = { updates, long_tasks_ms: await page.evaluate(() => window.tasks) };
  await page.close();
}
await browser.close();
console.log(JSON.stringify(found));
