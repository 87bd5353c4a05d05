// ignore.mjs - stacks with an ignored frame are left out of every view and interval; the timeline follows the search
import { assert, check, drag, rows, settled } from "./browser.mjs";

const KEPT = { calls: 160, bytes: 40 * (1000 + 1010 + 1020 + 1030) }; // in keep() of the program in test_page.py
const number = (text) => Number(text.replaceAll(",", ""));

await check(async ({ page, report, open }) => {
  const rootCalls = async () => number((await rows(page, "tree"))[0][1]);
  const rest = report.allocation_calls - KEPT.calls;
  const fragment = () => page.evaluate(() => location.hash);

  // By keyboard; a chip shows it and ends it.
  await open("#flame?cost=calls");
  assert.equal(await rootCalls(), report.allocation_calls);
  await page.keyboard.press("i");
  await page.keyboard.type("keep");
  await page.keyboard.press("Enter");
  assert.equal(await rootCalls(), rest);
  assert.equal(await page.locator(".chip").textContent(), "without keep✕");
  await page.waitForFunction(() => location.hash.includes("ignore=keep"));
  const link = await fragment();
  await page.click(".chip button");
  assert.equal(await rootCalls(), report.allocation_calls);

  // The link shows the same; the parts of the run add up to the whole.
  await open(link);
  assert.equal(await rootCalls(), rest);
  await drag(page, ".strip", 0.3, 0.7);
  const [, from, to] = /from=(\d+)&to=(\d+)/.exec(await settled(page, link));
  let sum = await rootCalls();
  for (const part of [`from=0&to=${from}`, `from=${to}&to=${report.duration_ns}`]) {
    await open(`#flame?cost=calls&ignore=keep&${part}`);
    sum += await rootCalls();
  }
  assert.equal(sum, rest);

  // Functions, leaks and lifetimes are without it, too. An invalid pattern ignores nothing, and the page reports it.
  await open("#flame?mode=sandwich&cost=calls&ignore=keep");
  const functions = (await rows(page, "functions")).map(([name]) => name);
  assert.ok(functions.includes("churn") && !functions.includes("keep"), functions.join());
  await open("#leaks?ignore=keep");
  assert.deepEqual(await rows(page, "leaks"), []);
  assert.equal(await page.locator("main h2").first().textContent(), "Nothing else is left");
  assert.equal(await page.locator(".empty").textContent(), "Nothing else is left.");
  await open("#lifetimes");
  const all = (await rows(page, "lifetimes")).length;
  await page.locator(".ignore input").fill("func=keep");
  assert.ok((await rows(page, "lifetimes")).length < all);
  await page.locator(".ignore input").fill("/(/");
  assert.equal((await rows(page, "lifetimes")).length, all);
  assert.match(await page.locator(".ignore span").textContent(), /regular expression/i);

  // The timeline's curves by stack show the stacks that are found: at the end, the blocks that keep() kept.
  await open("#timeline?find=keep");
  assert.match(await page.locator(".find span").textContent(), /^1 stack$/);
  const chart = page.locator(".chart").first();
  assert.match(await chart.locator("figcaption").textContent(), /matching stacks only/);
  const box = await chart.locator(".u-over").boundingBox();
  await page.mouse.move(box.x + box.width - 1, box.y + 10);
  const text = `${(KEPT.bytes / 1000).toFixed(1)} kB`;
  await page.waitForFunction((kept) => document.querySelector(".chart .legend .figure").textContent === kept, text);
  assert.doesNotMatch(await chart.locator(".at").textContent(), /kB/); // once is enough
  await open("#timeline?find=keep&ignore=keep");
  assert.equal(await page.locator(".find span").textContent(), "1 stack");
  assert.equal(await page.locator(".chart").first().locator(".legend").count(), 0);
});
