// sampled.mjs - estimates have the errors of `heapwright report --json`, in every view; exact figures have none
import { assert, check, count, rows, saved } from "./browser.mjs";

const VIEWS = ["overview", "timeline", "flame?cost=bytes", "flame?mode=sandwich", "leaks", "sizes", "sizes?grain=classes", "threads", "lifetimes"];
const UNITS = ["B", "kB", "MB", "GB"];

/** The amount and the error of text such as 412.6 MB ± 3.2, or 20 ± 3. */
function parsed(text) {
  const [, amount, unit = "B", error, ownUnit = unit] = /([\d,.]+)(?: (B|kB|MB|GB))?(?: ± <?([\d,.]+)(?: (kB|MB|GB))?)?/.exec(text);
  const number = (digits, of) => Number(digits.replaceAll(",", "")) * 1000 ** UNITS.indexOf(of);
  return { amount: number(amount, unit), error: error === undefined ? undefined : number(error, ownUnit), rounding: 0.11 * 1000 ** UNITS.indexOf(unit) };
}

/** `share`: how far an error may be off that follows from several rounded ones, or from the mean size of a stack's blocks. */
function assertEstimate(text, amount, error, share = 0.01) {
  const found = parsed(text);
  assert.ok(Math.abs(found.amount - amount) <= found.rounding + 1, `${text} is not ${amount}`);
  if (amount === 0 || error === undefined) assert.equal(found.error, undefined, text);
  else assert.ok(found.error !== undefined && Math.abs(found.error - error) <= share * error + found.rounding + 3, `${text} is not ± ${error}`);
}

/** What the chart says of moments from its beginning to its end: at some of them nothing may live. */
async function textsAlong(page, chart) {
  const { x, y, width, height } = await chart.locator(".u-over").boundingBox();
  const texts = [];
  for (let part = 0.1; part < 1; part += 0.1) {
    await page.mouse.move(x + part * width, y + height / 2);
    texts.push(await chart.textContent());
  }
  return texts;
}

await check(async ({ page, report, open }) => {
  if (report.estimated !== true) {
    for (const view of VIEWS) {
      await open(`#${view}`);
      assert.ok(!(await page.locator("body").textContent()).includes("±"), view);
    }
    return;
  }
  const figure = (name) => page.locator(`[data-figure="${name}"]`).evaluate((dd) => [...dd.childNodes].slice(0, -1).map((part) => part.textContent).join(""));
  const { of_part: part, of_thread: thread } = report;

  // The run: exact calls, and estimates.
  await open("");
  assert.equal(await figure("Allocations"), count(report.allocation_calls));
  assertEstimate(await figure("Peak"), report.peak_bytes, report.peak_bytes_error);
  assertEstimate(await figure("Blocks at peak"), report.peak_blocks, report.peak_blocks_error);
  assertEstimate(await figure("At the end"), report.live_bytes_at_end, report.live_bytes_at_end_error);
  assertEstimate(await figure("Temporary"), report.temporary_calls, report.temporary_calls_error);
  assert.match(await page.locator("header .facts").textContent(), /peak [\d.]+ .?B ± [\d.]+/);
  assert.match((await textsAlong(page, page.locator(".chart").first())).join("\n"), / ± /);

  // The flame graph: the tree, the functions, and the card of a frame.
  for (const [cost, key] of [["calls", "calls"], ["bytes", "bytes"], ["peak", "peak_bytes"], ["live", "live_bytes"], ["temporary", "temporary_calls"]]) {
    await open(`#flame?cost=${cost}`);
    assertEstimate((await rows(page, "tree"))[0][1], report.selected[key], report.selected[`${key}_error`]);
  }
  await page.hover('[data-graph="flame"] canvas', { position: { x: 200, y: 8 } });
  assert.match(await page.locator(".hover").textContent(), /Total[\d,]+ ± /);
  await open("#flame?cost=bytes&mode=sandwich");
  const functions = new Map((await rows(page, "functions")).map((row) => [row[0], row]));
  const made = report.top.filter(({ stack }) => stack[0].function === "make");
  const error = Math.hypot(...made.map(({ bytes_error }) => bytes_error));
  assertEstimate(functions.get("make")[2], made.reduce((sum, { bytes }) => sum + bytes, 0), error);
  const file = await saved(page, ".table-foot button");
  assert.match(file.text.split("\n")[0], /Total,± Total,Self,± Self/);

  // Sizes have exactly their errors; calls of threads are exact.
  await open("#sizes");
  for (const row of await rows(page, "sizes")) {
    const size = report.sizes.find((each) => `${count(each.size)} B` === row[0]);
    if (size !== undefined) assertEstimate(row[1], size.calls, size.calls_error, 0);
  }
  await open("#threads");
  for (const row of await rows(page, "threads")) {
    const found = report.by_thread.find(({ tid }) => String(tid) === row[1]);
    assert.equal(row[3], count(found.allocation_calls));
    assertEstimate(row[5], found.temporary_calls, found.temporary_calls_error);
    assertEstimate(row[6], found.live_bytes, found.live_bytes_error);
    assertEstimate(row[7], found.peak_bytes, found.peak_bytes_error);
  }

  // Stacks: leaks with the chosen one, and lifetimes.
  await open("#leaks");
  assert.match((await rows(page, "leaks"))[0][1], /^[\d.,]+ .?B ± [\d.,]+$/);
  assert.match(await page.locator(".detail dl").textContent(), /At the end[\d.,]+ .?B ± [\d.,]+ in [\d,]+ ± [\d,]+ blocks/);
  await open("#lifetimes");
  assert.match((await rows(page, "lifetimes"))[0].at(-1), / ± /);

  // A part of the run: all of its figures are estimates, whose errors follow from the shares of the rows.
  const span = `from=${part.interval.from_ns}&to=${part.interval.to_ns}`;
  await open(`#flame?cost=calls&${span}`);
  assertEstimate((await rows(page, "tree"))[0][1], part.selected.calls, part.selected.calls_error, 0.1);
  await open(`#overview?${span}`);
  assertEstimate(await figure("Allocations"), part.allocation_calls, part.allocation_calls_error, 0.1);
  assertEstimate(await figure("At the end"), part.live_bytes_at_end, part.live_bytes_at_end_error, 0.1);
  assert.match(await page.locator(".growing .figure").first().textContent(), /^\+[\d.,]+ .?B ± /);

  // One thread.
  const row = await page.evaluate((name) => JSON.parse(document.getElementById("heapwright-data").textContent).threads.name.indexOf(name), "keeper");
  await open(`#flame?cost=bytes&thread=${row}`);
  assertEstimate((await rows(page, "tree"))[0][1], thread.selected.bytes, thread.selected.bytes_error, 0.1);
  await open(`#overview?thread=${row}`);
  assertEstimate(await figure("At the end"), thread.live_bytes, thread.live_bytes_error);
});
