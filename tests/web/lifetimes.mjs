// lifetimes.mjs - the lifetimes of blocks follow the brush: for the run, for an interval, for a moment
import { assert, check, count, drag, rows, settled } from "./browser.mjs";

const number = (text) => Number(text.split(" ")[0].replaceAll(",", ""));

await check(async ({ page, report, open }) => {
  const legend = () => page.$$eval(".panel .legend li .figure", (found) => found.map((figure) => figure.textContent.trim()));
  const shows = async (lifetimes, last) => {
    const { below_1min: _never, "1min_or_longer": _either, ...lived } = lifetimes; // no block of the run had these
    const expected = Object.values(lived);
    assert.deepEqual((await legend()).map(number), expected);
    const of = await rows(page, "lifetimes");
    assert.deepEqual(expected.map((_, i) => of.reduce((sum, row) => sum + number(row[i + 1]), 0)), expected);
    const all = expected.reduce((sum, blocks) => sum + blocks, 0);
    assert.equal(of.reduce((sum, row) => sum + number(row.at(-1)), 0), all);
    assert.ok((await page.locator(".panel .toolbar .faint").first().textContent()).startsWith(`${count(all)} blocks `));
    assert.equal(await page.locator(".panel .legend li .label").last().textContent(), last);
    assert.ok(of.every((row) => number(row.at(-1)) > 0));
  };

  await open("#lifetimes");
  await shows(report.lifetimes, "To the end");
  await open(`#lifetimes?from=${report.first}&to=${report.last}`);
  await shows(report.within.lifetimes, "Not freed");
  await open(`#lifetimes?at=${report.last}`);
  await shows(report.until.lifetimes, "Not freed");

  // After dragging, the view shows the same as a link to that interval.
  await open("#lifetimes");
  const whole = await legend();
  const before = await page.evaluate(() => location.hash);
  await drag(page, ".strip", 0.1, 0.4);
  const link = await settled(page, before);
  const dragged = await legend();
  assert.notDeepEqual(dragged, whole);
  await open(link);
  assert.deepEqual(await legend(), dragged);
});
