// memory.mjs - the page of a heap that was not recorded: what the allocator holds, and no view of what happened
import { assert, assertBytes, check, count, rows } from "./browser.mjs";

await check(async ({ page, report, open }) => {
  const figure = async (name) => (await page.locator(`[data-figure="${name}"]`).evaluate((dd) => dd.firstChild.textContent)).trim();
  const texts = (selector) => page.locator(selector).allTextContents();

  await open("");
  assertBytes(await figure("Live"), report.live_bytes);
  assertBytes(await figure("From the kernel"), report.system_bytes);
  assertBytes(await figure("Free"), report.free_bytes);
  assert.equal(await figure("Understood"), "100 %");
  assert.deepEqual(await texts("nav a"), ["Overview", "Flame graph", "Sizes"]);
  assert.equal(await page.locator("canvas").count(), 0, "a curve");
  const [part] = await texts(".small-table tbody th");
  assert.equal(part, "main arena");
  assert.ok((await texts(".findings")).join().includes("of free memory from being returned to the kernel"));

  // Calls and times have no view, whatever a link says.
  for (const view of ["timeline", "leaks", "threads", "lifetimes"]) {
    await open(`#${view}`);
    assert.equal(await page.locator('nav a[aria-current="page"]').textContent(), "Overview", view);
  }
  await open("#flame?cost=calls");
  assertBytes((await rows(page, "tree"))[0][1], report.live_bytes);

  await open("#sizes");
  assert.ok((await texts(".toolbar h2"))[0].startsWith(`${count(report.live_blocks)} blocks`));
  const blocks = (await rows(page, "sizes")).map((cells) => Number(cells[2].replaceAll(",", "")));
  assert.equal(blocks.reduce((sum, each) => sum + each, 0), report.live_blocks);
});
