// dropped.mjs - charts say what is known of the part of a run whose events were dropped, and show its curve
import { assert, check } from "./browser.mjs";

await check(async ({ page, report, open }) => {
  const charts = () => page.$$eval(".chart", (found) => Object.fromEntries(found.map((chart) => [chart.querySelector("b").textContent, chart.querySelector(".sr-only").textContent])));
  await open("#overview");
  assert.match((await charts())["Live bytes over time"], /until .* events dropped: totals along time/);
  assert.match(await page.locator(".evidence").textContent(), /Keptevents from .* on; of before: what still lives, and totals/);
  await open("#timeline");
  await page.waitForFunction(() => document.querySelectorAll(".chart").length === 3);
  const shown = await charts();
  assert.match(shown["Live bytes by stacks"], /events dropped: parts only of what lives on/);
  assert.match(shown["Calls per second"], /events dropped: totals along time/);
  await open("#leaks");
  await page.waitForSelector(".detail .chart");
  assert.match((await charts())["Live bytes of this stack"], /events dropped: only what lives on/);

  // An interval of the dropped part has its calls and its level.
  const slices = await page.evaluate(() => JSON.parse(document.getElementById("heapwright-data").textContent).slices);
  const [from, to] = [10, 20];
  assert.ok(slices.from_ns[to] < report.dropped_until_ns);
  await open(`#overview?from=${slices.from_ns[from]}&to=${slices.from_ns[to]}`);
  const calls = slices.allocation_calls.slice(from, to).reduce((sum, count) => sum + count, 0);
  assert.ok(calls > 0);
  assert.ok((await page.locator('[data-figure="Allocations"]').textContent()).startsWith(calls.toLocaleString("en-US")));
});
