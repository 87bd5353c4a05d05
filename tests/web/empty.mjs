// empty.mjs - for a program that allocated nothing, every view says so: no axes without a curve, no percentage of 0
import { assert, check } from "./browser.mjs";

await check(async ({ page, report, open }) => {
  assert.equal(report.allocation_calls, 0);
  for (const view of ["overview", "timeline", "flame", "leaks", "sizes", "threads", "lifetimes"]) {
    await open(`#${view}`);
    assert.equal(await page.locator(".nothing h2").textContent(), "This program allocated nothing", view);
    assert.equal(await page.locator(".u-wrap").count(), 0, view);
  }
  assert.match(await page.locator(".head .facts").textContent(), /nothing allocated$/);
  await open("#overview");
  const notes = await page.locator(".figures small").allTextContents();
  assert.ok(notes.every((note) => !/^0\/s|^0 on| is $|is none of it/.test(note)), notes.join("; "));
});
