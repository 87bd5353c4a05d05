// page.mjs - how long the page of a recording takes until its first paint, for a step of dragging a brush or the lanes of scopes,
// and to open a view
//
// node bench/page.mjs [--json] PAGE   PAGE is a file from `heapwright report -o run.html`, best of a large recording. The goals are
// a first paint within a second and steps below 50 ms. Steps are measured in CPU time of the main thread, the first paint in wall
// time.
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const { chromium } = createRequire(new URL("../web/package.json", import.meta.url))("playwright-core");
const VIEWS = ["overview", "timeline", "flame?cost=bytes", "flame?mode=sandwich", "leaks", "sizes", "threads", "lifetimes"];
const STEPS = 30;
const LOADS = 5;
const PREPARED_MS = 3000; // after a page was opened

const file = process.argv.at(-1);
const asJson = process.argv[2] === "--json";
if (process.argv.length !== (asJson ? 4 : 3)) {
  console.error("usage: page.mjs [--json] PAGE");
  process.exit(2);
}
const url = pathToFileURL(resolve(file)).href;
const browser = await chromium.launch({ executablePath: process.env.HW_CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const page = await browser.newPage({ viewport: { width: 1920, height: 1080 } });
const session = await page.context().newCDPSession(page);
await session.send("Performance.enable", { timeDomain: "threadTicks" });

const busyMs = async () => {
  const { metrics } = await session.send("Performance.getMetrics");
  return 1000 * metrics.find(({ name }) => name === "TaskDuration").value;
};
const nextFrame = () => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))));
const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];
const found = { paint_ms: {}, steps_ms: {}, first_ms: {}, opening_ms: {}, lanes_ms: null };

const paints = [];
for (let i = 0; i < LOADS; i++) {
  await page.goto("about:blank");
  await page.goto(url);
  await page.waitForSelector(".u-over");
  await nextFrame();
  paints.push(await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime));
}
found.paint_ms = { best: Math.min(...paints), median: median(paints) };

for (const view of VIEWS) {
  await page.goto("about:blank");
  await page.goto(`${url}#${view}`);
  const chart = await page.waitForSelector(".u-over");
  const box = await chart.boundingBox();
  const drag = async (last) => {
    const move = (i) => page.mouse.move(box.x + (0.2 + (0.6 * i) / STEPS) * box.width, box.y + box.height / 2);
    const steps = [];
    await move(0);
    await page.mouse.down();
    for (let i = 1; i <= last; i++) {
      const before = await busyMs();
      await move(i);
      await nextFrame();
      steps.push((await busyMs()) - before);
    }
    await page.mouse.up();
    return steps;
  };
  await nextFrame();
  [found.first_ms[view]] = await drag(1); // before the page has prepared its views
  await page.keyboard.press("x"); // selects the whole run again
  await page.waitForTimeout(PREPARED_MS);
  const steps = await drag(STEPS);
  found.steps_ms[view] = { median: median(steps), most: Math.max(...steps) };
}

// The lanes of scopes: the times of the timeline are dragged, once when it shows half of the run, and once a thousandth.
await page.goto("about:blank");
await page.goto(`${url}#timeline`);
await page.waitForSelector(".u-over");
await page.waitForTimeout(PREPARED_MS);
if ((await page.locator("[data-lanes] canvas").count()) > 0) {
  found.lanes_ms = {};
  const run = await page.evaluate(() => JSON.parse(document.getElementById("heapwright-data").textContent).run.duration_ns);
  for (const part of [2, 1000]) {
    await page.goto("about:blank");
    await page.goto(`${url}#timeline?window=${Math.round(run / 4)}-${Math.round(run / 4 + run / part)}`);
    await page.waitForSelector("[data-lanes] canvas");
    await page.waitForTimeout(PREPARED_MS);
    await page.locator("[data-lanes]").scrollIntoViewIfNeeded();
    const box = await page.locator("[data-lanes] canvas").boundingBox();
    const move = (i) => page.mouse.move(box.x + (0.8 - (0.6 * i) / STEPS) * box.width, box.y + box.height / 2);
    const steps = [];
    await move(0);
    await page.mouse.down();
    for (let i = 1; i <= STEPS; i++) {
      const before = await busyMs();
      await move(i);
      await nextFrame();
      steps.push((await busyMs()) - before);
    }
    await page.mouse.up();
    found.lanes_ms[part] = { median: median(steps), most: Math.max(...steps) };
  }
}

// Openings: each view is opened from another one, after its data has been prepared; measures the longest task.
for (const view of VIEWS) {
  const [opened, from] = [`#${view}`, view === "overview" ? "#sizes" : "#overview"];
  const longest = [];
  for (let i = 0; i < LOADS; i++) {
    await page.goto("about:blank");
    await page.goto(url + from);
    await page.waitForSelector(".u-over");
    await page.waitForTimeout(PREPARED_MS);
    longest.push(
      await page.evaluate(async (fragment) => {
        let most = 0;
        const watcher = new PerformanceObserver((list) => {
          for (const { duration } of list.getEntries()) most = Math.max(most, duration);
        });
        watcher.observe({ type: "longtask" });
        history.replaceState(null, "", fragment);
        dispatchEvent(new PopStateEvent("popstate"));
        await new Promise((done) => setTimeout(done, 1000));
        watcher.disconnect();
        return most;
      }, opened),
    );
  }
  found.opening_ms[view] = { least: Math.min(...longest), median: median(longest) };
}
await browser.close();

function table({ paint_ms: paint, steps_ms: steps, first_ms: firsts, opening_ms: openings, lanes_ms: lanes }) {
  const lines = [`first paint            ${paint.best.toFixed(0)} ms (best of ${LOADS}), ${paint.median.toFixed(0)} ms (median)`];
  lines.push("a step of the brush    median      max       the first, as soon as the page is shown");
  const ms = (time) => `${time.toFixed(1).padStart(6)} ms`;
  for (const [view, step] of Object.entries(steps))
    lines.push(`  ${view.padEnd(20)} ${ms(step.median)} ${ms(step.most)} ${ms(firsts[view])}`);
  for (const [part, step] of Object.entries(lanes ?? {})) lines.push(`  lanes, 1/${part.padEnd(11)} ${ms(step.median)} ${ms(step.most)}`);
  lines.push("the longest task of opening a view; below 50 ms: none  min median");
  const task = (ms) => (ms === 0 ? "none" : `${ms.toFixed(0)} ms`);
  for (const [view, { least, median: middle }] of Object.entries(openings))
    lines.push(`  ${view.padEnd(20)} ${task(least)} ${task(middle)}`);
  return lines.join("\n");
}
console.log(asJson ? JSON.stringify(found) : table(found));
