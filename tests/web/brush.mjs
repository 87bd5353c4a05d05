// brush.mjs - every view shows the interval that is dragged over a chart; the link keeps it, and keys move it
import { assert, check, count, drag, rows, scrollFrom, settled, timeOf } from "./browser.mjs";

const rootCalls = async (page) => Number((await rows(page, "tree"))[0][1].replaceAll(",", ""));
const fragment = (page) => page.evaluate(() => location.hash);

await check(async ({ page, report, open }) => {
  await open("#flame?cost=calls");
  assert.equal(await rootCalls(page), report.allocation_calls);
  const [begin, end] = [timeOf(report, 0.25), timeOf(report, 0.6) + 0.02];
  await drag(page, ".strip", begin, end);
  await page.waitForSelector("[data-span]");
  const within = await rootCalls(page);
  assert.ok(within > 0 && within < report.allocation_calls, `${within} of ${report.allocation_calls}`);
  const link = await settled(page, "#flame?cost=calls");
  const [, from, to] = /from=(\d+)&to=(\d+)/.exec(link);
  assert.ok(Math.abs(from / report.duration_ns - begin) < 0.02 && Math.abs(to / report.duration_ns - end) < 0.02, link);

  // The three parts of the run contain all calls together.
  await open(`#flame?cost=calls&from=0&to=${from}`);
  const before = await rootCalls(page);
  await open(`#flame?cost=calls&from=${to}&to=${report.duration_ns}`);
  const after = await rootCalls(page);
  assert.equal(before + within + after, report.allocation_calls);

  // The link shows the same, and other views follow.
  await open(link);
  assert.equal(await rootCalls(page), within);
  await page.click('nav a[href="#threads"]');
  const threads = await rows(page, "threads");
  assert.equal(threads.reduce((sum, row) => sum + Number(row[3].replaceAll(",", "")), 0), within);
  await page.click('nav a[href="#sizes"]');
  await page.waitForSelector('[data-table="sizes"]');
  assert.equal(await page.textContent(".toolbar h2"), `${count(within)} allocations by size`);
  assert.ok(await page.locator("[data-span]").isVisible());

  // Scrolling with a finger is no drag.
  const brushed = await page.textContent("[data-span]");
  await scrollFrom(page, page.locator(".strip .u-over"));
  assert.equal(await page.textContent("[data-span]"), brushed);

  // A click selects a moment and shows its live bytes; x selects the whole run again.
  const box = await page.locator(".strip .u-over").boundingBox();
  const interval = await fragment(page);
  await page.mouse.click(box.x + box.width / 2, box.y + 5);
  const atMiddle = await settled(page, interval);
  assert.match(atMiddle, /at=\d+/);
  await page.locator(".brush").first().focus();
  await page.keyboard.press("ArrowRight");
  const next = await settled(page, atMiddle);
  await page.keyboard.press("Shift+ArrowRight");
  assert.match(await settled(page, next), /from=\d+&to=\d+/);
  await page.keyboard.press("x");
  assert.equal(await page.locator("[data-span]").count(), 0);

  // The live bytes at the end are the run's.
  await open(`#flame?cost=live&at=${report.duration_ns}`);
  const live = (await rows(page, "tree"))[0][1];
  await open("#flame?cost=live");
  assert.equal((await rows(page, "tree"))[0][1], live);

  // Every chart shows the brush at its place, as soon as it is drawn.
  const [fromNs, toNs] = [0.25, 0.75].map((share) => Math.round(share * report.duration_ns));
  for (const view of ["overview", "timeline", "sizes", "leaks"]) {
    await open(`#${view}?from=${fromNs}&to=${toNs}`);
    await page.waitForTimeout(500);
    const shares = await page.$$eval(".brush .inside", (found) =>
      found.map((inside) => [parseFloat(inside.style.left), parseFloat(inside.style.width)].map((px) => px / inside.parentElement.clientWidth)),
    );
    assert.ok(shares.length > 0 && shares.every(([left, width]) => Math.abs(left - 0.25) < 0.02 && Math.abs(width - 0.5) < 0.03), `${view}: ${shares}`);
  }

  // A drag over all of it is no interval.
  await drag(page, ".strip", 0, 0.9999);
  assert.equal(await page.locator("[data-span]").count(), 0);
});
