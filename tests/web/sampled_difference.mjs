// sampled_difference.mjs - the difference between an exact and a sampled run has the errors of `heapwright diff`
import { assert, check, count, rows } from "./browser.mjs";

await check(async ({ page, report: { change, now }, open }) => {
  const figure = async (name) => (await page.locator(`[data-figure="${name}"]`).textContent()).trim();
  await open("#overview?cost=live");
  assert.equal(await page.locator("header .sampled").count(), 1);
  assert.ok((await figure("Blocks at peak")).startsWith(`${count(now.peak_blocks)} ± ${count(now.peak_blocks_error)}`));
  assert.ok((await figure("Allocations")).startsWith(count(now.allocation_calls)));
  assert.ok(!(await figure("Allocations")).includes("±"));
  const row = (await rows(page, "changes")).find(([name]) => name === "keep");
  assert.ok(!row[1].includes("±"), row[1]);
  assert.match(row[2], / ± /);
  assert.match(row[3], /^[+−].* ± /);
  await open("#flame?cost=calls");
  const [root] = await rows(page, "tree");
  assert.match(root[3], /^[+−][\d,]+ ± [\d,]+$/);
  const error = Number(root[3].split(" ± ")[1].replaceAll(",", "")); // of rows that are rounded up
  assert.ok(error >= change.calls_error && error <= change.calls_error + 5, `${root[3]} is not ± ${change.calls_error}`);
  await page.hover('[data-graph="difference"] canvas', { position: { x: 200, y: 8 } });
  assert.match(await page.locator(".hover").textContent(), /Old[\d,]+New[\d,]+ ± [\d,]+Change[+−][\d,]+ ± /);
});
