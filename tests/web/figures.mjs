// figures.mjs - the figures on the page are those of `heapwright report --json`
import { assert, assertBytes, check, count, rows, saved } from "./browser.mjs";

await check(async ({ page, report, open }) => {
  await open("");
  const figure = async (name) => (await page.locator(`[data-figure="${name}"]`).evaluate((dd) => dd.firstChild.textContent)).trim();
  assert.equal(await figure("Allocations"), count(report.allocation_calls));
  assert.equal(await figure("Frees"), count(report.free_calls));
  assert.equal(await figure("Temporary"), count(report.temporary_calls));
  assertBytes(await figure("Peak"), report.peak_bytes);
  assertBytes(await figure("Allocated"), report.allocated_bytes);
  assertBytes(await figure("At the end"), report.live_bytes_at_end);
  assert.equal(await page.title(), `${report.command} – heapwright`);

  // The root of the flame graph's tree has each cost's figure of the run.
  const totals = { calls: report.allocation_calls, temporary: report.temporary_calls };
  for (const [cost, total] of Object.entries(totals)) {
    await open(`#flame?cost=${cost}`);
    const [root] = await rows(page, "tree");
    assert.equal(root[1], count(total), cost);
  }
  for (const [cost, total] of Object.entries({ peak: report.peak_bytes, bytes: report.allocated_bytes })) {
    await open(`#flame?cost=${cost}`);
    const [root] = await rows(page, "tree");
    assertBytes(root[1], total);
  }

  // Tables as CSV have exact figures: sizes and threads add up to the run's.
  const sums = async (view, column) => {
    await open(`#${view}`);
    const { name, text } = await saved(page, `[data-table="${view}"] ~ .table-foot button`);
    assert.equal(name, `${view}.csv`);
    const lines = text.trim().split("\r\n");
    const at = lines[0].split(",").indexOf(column);
    return lines.slice(1).reduce((sum, line) => sum + Number(line.split(",").at(at)), 0);
  };
  assert.equal(await sums("sizes", "Calls"), report.allocation_calls);
  assert.equal(await sums("sizes", "Allocated"), report.allocated_bytes);
  assert.equal(await sums("sizes", "At the peak"), report.peak_bytes);
  assert.equal(await sums("threads", "Allocations"), report.allocation_calls);
  assert.equal(await sums("threads", "Allocated"), report.allocated_bytes);
  assert.equal(await sums("leaks", "Bytes"), report.live_bytes_at_end - (report.runtime_blocks?.live_bytes ?? 0));

  // Every thread has its row; the matrix as CSV shows how many blocks each thread freed of every other one.
  await open("#threads");
  assert.equal((await rows(page, "threads")).length, report.by_thread.length);
  const foreign = report.by_thread.reduce((sum, { foreign_frees }) => sum + foreign_frees, 0);
  assert.equal(await page.locator(".matrix").count(), Number(foreign > 0));
  if (foreign === 0) return;
  const freed = async () => {
    const { name, text } = await saved(page, `[aria-label="Save the matrix as CSV"]`);
    assert.equal(name, "threads-matrix.csv");
    const [head, ...lines] = text.trim().split("\r\n").map((line) => line.split(","));
    assert.deepEqual(lines.map(([owner]) => owner), head.slice(1));
    return lines.flatMap((line) => line.slice(1)).reduce((sum, blocks) => sum + Number(blocks), 0);
  };
  assert.equal(await freed(), foreign);

  // The view follows the brush: two parts of the run add up to the whole; a moment shows the blocks freed until then.
  const middle = Math.round(report.duration_ns * 0.9);
  await open(`#threads?at=${middle}`);
  const before = await freed();
  await open(`#threads?from=0&to=${middle}`);
  assert.equal(await freed(), before);
  await open(`#threads?from=${middle}&to=${report.duration_ns}`);
  assert.equal((await freed()) + before, foreign);
});
