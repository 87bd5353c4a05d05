// overview.mjs - the first view follows the brush: the figures of an interval and of a moment are those of `report --from --to`
import { assert, assertBytes, check, count, drag, settled, timeOf } from "./browser.mjs";

await check(async ({ page, report, open }) => {
  const figure = async (name) => (await page.locator(`[data-figure="${name}"]`).evaluate((dd) => dd.firstChild.textContent)).trim();
  const names = () => page.$$eval("[data-figure]", (found) => found.map((dd) => dd.dataset.figure));
  const heading = () => page.locator("h2", { hasText: "Largest stacks at" }).textContent();
  const shows = async ({ allocation_calls, free_calls, allocated_bytes, temporary_calls }) => {
    assert.equal(await figure("Allocations"), count(allocation_calls));
    assert.equal(await figure("Frees"), count(free_calls));
    assertBytes(await figure("Allocated"), allocated_bytes);
    const temporary = Number((await figure("Temporary")).replaceAll(",", ""));
    assert.ok(temporary >= temporary_calls && temporary - temporary_calls <= report.threads, `${temporary} of ${temporary_calls}`);
  };

  await open(`#overview?from=${report.first}&to=${report.last}`);
  assert.equal((await names()).length, 8);
  await shows(report.within);
  assertBytes(await figure("Peak"), report.within.peak_bytes);
  assertBytes(await figure("At the end"), report.within.live_bytes_at_end);
  assert.ok(!(await page.locator("h2").allTextContents()).includes("What stands out")); // but in the whole run
  assert.notEqual(await heading(), "Largest stacks at the peak");

  await open(`#overview?at=${report.last}`);
  assert.equal((await names()).length, 8);
  await shows(report.until);
  assertBytes(await figure("Live bytes"), report.until.live_bytes_at_end);
  assert.equal(await figure("Live blocks"), count(report.until.live_blocks_at_end));
  assertBytes(await figure("Peak so far"), report.until.peak_bytes);

  // What is listed as live is what the flame graph has there; dragged, both change.
  await open("#overview");
  assert.equal(await heading(), "Largest stacks at the peak");
  const top = () => page.locator(".top:not(.processes) li").first().textContent();
  const whole = await top();
  const before = await page.evaluate(() => location.hash);
  await drag(page, ".chart", timeOf(report, 0.1), timeOf(report, 0.5) + 0.02);
  const link = await settled(page, before);
  assert.notEqual(await top(), whole);
  const shown = await top();
  await open(link);
  assert.equal(await top(), shown);
});
