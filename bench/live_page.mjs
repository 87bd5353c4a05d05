// live_page.mjs - how long the page of a running program holds up its browser while its figures change
//
// node live_page.mjs ADDRESS SECONDS   Prints JSON: by view, the updates, and the longest task of the browser's main thread: in time that
// passed, and in CPU time, which is less where other programs want the processors too.
import { createRequire } from "node:module";

const fromWeb = createRequire(new URL("../web/package.json", import.meta.url));
const { chromium } = fromWeb("playwright-core");
const [address, seconds] = [process.argv[2], Number(process.argv[3])];
const SETTLED_MS = 3000;
const US_PER_MS = 1000;

/** The tasks of a page's main thread in a trace of the browser. */
function tasksOf(trace) {
  const events = JSON.parse(trace.toString()).traceEvents;
  const threadOf = (event) => `${event.pid}:${event.tid}`;
  const mains = new Set(events.filter((event) => event.name === "thread_name" && event.args.name === "CrRendererMain").map(threadOf));
  return events.filter((event) => event.ph === "X" && event.name === "RunTask" && mains.has(threadOf(event)));
}

const longest = (times) => times.reduce((most, time) => Math.max(most, time), 0) / US_PER_MS;

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
const found = {};
for (const view of ["overview", "flame", "sizes"]) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  let updates = 0;
  page.on("response", (response) => (updates += Number(response.url().includes("/document"))));
  await page.goto(`${address}#${view}`);
  await page.waitForSelector("header.head");
  await page.waitForTimeout(SETTLED_MS);
  await browser.startTracing(page, { categories: ["disabled-by-default-devtools.timeline"] });
  updates = 0;
  await page.waitForTimeout(seconds * 1000);
  const tasks = tasksOf(await browser.stopTracing());
  found[view] = { updates, longest_ms: longest(tasks.map((task) => task.dur)), longest_cpu_ms: longest(tasks.map((task) => task.tdur ?? task.dur)) };
  await page.close();
}
await browser.close();
console.log(JSON.stringify(found));
