// difference.mjs - the page of a difference has both runs' figures, the changes of each function, and one tree of both
import { assert, check, count, drag, rows, settled } from "./browser.mjs";

await check(async ({ page, report, open }) => {
  const { old, now } = report; // of `report --json`, each
  await open("");
  const figure = async (name) => (await page.locator(`[data-figure="${name}"]`).textContent()).trim();
  const more = now.allocation_calls - old.allocation_calls;
  assert.ok((await figure("Allocations")).startsWith(`${count(now.allocation_calls)}+${count(more)}`), await figure("Allocations"));

  // keep_more() is only in the new run; keep() is in both.
  await open("#overview?cost=calls");
  const changes = new Map((await rows(page, "changes")).map(([name, ...rest]) => [name, rest]));
  assert.deepEqual(changes.get("keep_more").slice(0, 3), ["0", "50", "+50"]);
  assert.deepEqual(changes.get("keep").slice(0, 3), ["100", "120", "+20"]);
  assert.equal(changes.has("same"), false);

  await open("#flame?cost=calls");
  await page.locator('[data-graph="difference"]').focus();
  for (const key of ["ArrowDown", "Enter"]) await page.keyboard.press(key);
  assert.match(await page.evaluate(() => location.hash), /zoom=\d+/);
  await page.locator(".find input").fill("keep*");
  const found = page.locator(".find span");
  assert.match(await found.textContent(), /2 functions/);
  await page.locator(".find input").fill("module=libc.so*");
  assert.match(await found.textContent(), /^\d+ functions?$/);
  await page.locator(".find input").fill("module=keep");
  assert.equal(await found.textContent(), "no match");
  await page.locator(".find input").fill("file=*.c");
  assert.match(await found.textContent(), /^\d+ functions?$/);
  await page.locator(".find input").focus();
  await page.keyboard.press("Escape");

  // The tree has both runs' calls, each including those below it; keys open it and columns sort it.
  await open("#flame?cost=calls");
  const tree = page.locator('[data-table="tree"]');
  const calls = [old.allocation_calls, now.allocation_calls];
  const figureOf = (text) => Number(text.replaceAll(",", "").replace("−", "-"));
  const figures = async () => (await rows(page, "tree"))[0].slice(1).map(figureOf);
  assert.deepEqual(await figures(), [...calls, calls[1] - calls[0]]);
  await tree.focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowLeft");
  assert.equal((await rows(page, "tree")).length, 1);
  await page.keyboard.press("ArrowRight");
  assert.ok((await rows(page, "tree")).length > 1);
  await tree.locator("th button", { hasText: "Change" }).click();
  assert.equal(await tree.locator("th").last().getAttribute("aria-sort"), "descending");

  // An interval is the same time of both runs: three of them contain all calls, and x selects both runs again.
  await drag(page, ".strip", 0.25, 0.6);
  const [, from, to] = /from=(\d+)&to=(\d+)/.exec(await settled(page, "#flame?cost=calls"));
  const within = await figures();
  const sums = [...within];
  for (const part of [`from=0&to=${from}`, `from=${to}&to=${Math.max(old.duration_ns, now.duration_ns)}`]) {
    await open(`#flame?cost=calls&${part}`);
    (await figures()).forEach((amount, i) => (sums[i] += amount));
  }
  assert.deepEqual(sums, [...calls, calls[1] - calls[0]]);
  assert.ok(await page.locator("[data-span]").isVisible());
  await page.keyboard.press("x");
  assert.equal(await page.locator("[data-span]").count(), 0);

  // Ignored stacks are left out of both runs, also with the link; a chip ends it.
  await page.keyboard.press("i");
  await page.keyboard.type("keep_more");
  await page.keyboard.press("Enter");
  const [before, after] = [calls[0], calls[1] - 50];
  assert.deepEqual(await figures(), [before, after, after - before]);
  await page.waitForFunction(() => location.hash.includes("ignore=keep_more"));
  await open("#overview?cost=calls&ignore=keep_more");
  assert.ok(!(await rows(page, "changes")).some(([name]) => name === "keep_more"));
  await page.click(".chip button");
  assert.ok((await rows(page, "changes")).some(([name]) => name === "keep_more"));
  await page.locator(".find input").fill("keep_m*");
  assert.deepEqual((await rows(page, "changes")).map(([name]) => name), ["keep_more"]);
  await page.locator(".find input").fill("");
  await open("#flame?cost=calls");

  // The sandwich: the function that changed most is in the middle, until another one is chosen.
  await page.click("text=Sandwich");
  assert.match(await page.locator(".halves .crumbs").first().textContent(), /Callers of keep_more/);
  await page.locator('[data-table="changes"] tbody tr:not(.spacer)', { hasText: /^keep\d/ }).click();
  assert.match(await page.locator(".halves .crumbs").first().textContent(), /Callers of keep$/);
  assert.equal(await page.locator('[data-graph="callees"]').count(), 1);
  await page.keyboard.press("t");
});
