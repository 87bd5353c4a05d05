// processes.mjs - a page of a run of several processes says which of them it is of, and how to see the others
import { assert, check } from "./browser.mjs";

await check(async ({ page, report, open }) => {
  await open("#overview");
  const largest = [...report.processes].sort((a, b) => b.allocated_bytes - a.allocated_bytes);
  const together = report.processes.filter((process) => process.peak_bytes !== undefined).length;
  const heading = await page.locator("h3.later").textContent();
  const listed = await page.locator(".processes li").allTextContents();
  assert.equal(listed.length, Math.min(12, largest.length));
  listed.forEach((text, i) => assert.ok(text.includes(largest[i].command.slice(0, 20)), text));
  const facts = await page.locator(".head .facts").textContent();
  if (together > 1) {
    assert.equal(heading, `${largest.length} processes, all together on this page`);
    assert.ok(facts.startsWith(`${together} processes`), facts);
    return;
  }
  assert.ok(heading.startsWith(`Process ${report.pid} of ${largest.length}: `), heading);
  assert.ok(facts.startsWith(`pid ${report.pid}`), facts);
  assert.match(listed[0], /this page/);
  const other = largest.find(({ pid }) => pid !== report.pid).pid;
  assert.ok((await page.locator(".commands").textContent()).startsWith(`heapwright report --pid ${other} -o ${other}.html `));
});
