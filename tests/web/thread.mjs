// thread.mjs - one thread: every view shows only its allocations, like `report --thread`; chosen by list, key or link
import { assert, check, count, drag, rows, settled } from "./browser.mjs";

const number = (text) => Number(text.replaceAll(",", ""));
const sum = (numbers) => numbers.reduce((all, part) => all + part, 0);

await check(async ({ page, report, open }) => {
  const { selected, by_entry, durations } = report.of_thread;
  const rootFigure = async () => (await rows(page, "tree"))[0][1];
  const rootCalls = async () => number(await rootFigure());
  const picker = page.getByLabel("Thread");

  // From the list: every thread by its name, and all threads.
  await open("#flame?cost=calls");
  assert.equal(await rootCalls(), report.allocation_calls);
  const names = await picker.locator("option").allTextContents();
  assert.deepEqual([...names].sort(), ["all", ...report.by_thread.map(({ name }) => name)].sort());
  await picker.selectOption({ label: "keeper" });
  assert.equal(await rootCalls(), selected.calls);
  await page.waitForFunction(() => location.hash.includes("thread="));
  const thread = /thread=(\d+)/.exec(await page.evaluate(() => location.hash))[1];
  const all = await page.evaluate(() => history.length);
  await page.goBack();
  assert.equal(await rootCalls(), report.allocation_calls);
  assert.ok(all > 1);

  // By key, around the list and back.
  await page.keyboard.press("h");
  assert.equal(await picker.locator("option:checked").textContent(), names[1]);
  await page.keyboard.press("Shift+H");
  assert.equal(await picker.locator("option:checked").textContent(), "all");

  // The link, and other costs: exact in the table that is saved.
  for (const [cost, figure] of [["calls", "calls"], ["temporary", "temporary_calls"]]) {
    await open(`#flame?thread=${thread}&cost=${cost}`);
    assert.equal(await rootCalls(), selected[figure], cost);
  }
  await open(`#flame?thread=${thread}&cost=live&mode=sandwich`);
  const functions = new Map((await rows(page, "functions")).map((row) => [row[0], row]));
  assert.ok(functions.has("keep") && !functions.has("drop"), [...functions.keys()].join());

  // The parts of the run contain all calls of the thread together.
  await open(`#flame?thread=${thread}&cost=calls`);
  const before = await page.evaluate(() => location.hash);
  await drag(page, ".strip", 0.2, 0.6);
  const [, from, to] = /from=(\d+)&to=(\d+)/.exec(await settled(page, before));
  let parts = await rootCalls();
  for (const part of [`from=0&to=${from}`, `from=${to}&to=${report.duration_ns}`]) {
    await open(`#flame?thread=${thread}&cost=calls&${part}`);
    parts += await rootCalls();
  }
  assert.equal(parts, selected.calls);

  // Every other view.
  await open(`#overview?thread=${thread}`);
  assert.ok((await page.locator('[data-figure="Allocations"]').textContent()).startsWith(count(selected.calls)));
  await open(`#sizes?thread=${thread}`);
  assert.equal(sum((await rows(page, "sizes")).map((row) => number(row[1]))), selected.calls);
  await open(`#leaks?thread=${thread}`);
  assert.equal(sum((await rows(page, "leaks")).map((row) => number(row[3]))), 25);
  await open(`#lifetimes?thread=${thread}`);
  const lifetimes = await rows(page, "lifetimes");
  assert.equal(sum(lifetimes.map((row) => number(row.at(-1)))), selected.calls);
  assert.ok((await page.locator(".panel .toolbar .faint").first().textContent()).startsWith(count(selected.calls)));
  await open(`#lifetimes?thread=${thread}&from=0&to=${report.duration_ns}`);
  assert.deepEqual(await rows(page, "lifetimes"), lifetimes); // an interval of all of it
  await open(`#threads?thread=${thread}`);
  assert.deepEqual((await rows(page, "threads")).map(([name]) => name), ["keeper"]);
  await open(`#timeline?thread=${thread}&curves=threads`);
  const curves = () => page.locator(".chart").first().locator(".legend li").count();
  assert.equal(await curves(), 1); // a single curve has a legend, too
  await open("#timeline?curves=threads");
  assert.ok((await curves()) > 1);
  await open(`#durations?thread=${thread}`);
  const timed = (await rows(page, "durations")).filter(([name]) => name !== "all of them");
  assert.deepEqual(
    timed.map((row) => [row[0], number(row[1])]).sort(),
    durations.map(({ entry, calls }) => [entry, calls]).sort(),
  );
  assert.ok((await rows(page, "slowest")).every((row) => row[4] === "keeper"));
  assert.ok(by_entry.length > 0);

  // A thread that keeps nothing. One that only frees shows its frees and the owners of the blocks, and no other view.
  const choose = (label) => picker.selectOption({ label });
  await open("#leaks");
  await choose("dropper");
  await page.waitForFunction(() => document.querySelector("main h2").textContent === "Every block was freed");
  assert.equal(await page.locator(".empty").textContent(), "Every block was freed.");
  await choose("freer");
  await page.waitForFunction(() => document.querySelector("main h2").textContent === "This thread allocated nothing");
  await page.getByRole("link", { name: "Threads" }).click();
  const [freer] = await rows(page, "threads");
  assert.deepEqual([freer[0], freer[3], freer[8]], ["freer", "0", "1"]);
  assert.equal(await page.locator(".matrix-panel").count(), 1);

  // An unknown thread selects none; a double click in the table selects one.
  await open("#flame?cost=calls&thread=99");
  assert.equal(await rootCalls(), report.allocation_calls);
  await open("#threads");
  await page.locator('[data-table="threads"] tbody tr', { hasText: "keeper" }).first().dblclick();
  await page.waitForFunction((row) => location.hash.includes(`thread=${row}`), thread);
  assert.deepEqual((await rows(page, "threads")).map(([name]) => name), ["keeper"]);
});
