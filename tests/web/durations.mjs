// durations.mjs - the page shows the durations of `report --durations --json`, and the stack of each slow call
import { assert, check, count, rows, saved } from "./browser.mjs";

await check(async ({ page, report, open }) => {
  await open("");
  await page.click('nav a[href="#durations"]');
  const shown = await rows(page, "durations");
  assert.deepEqual(
    shown.slice(1).map(([name, calls]) => [name, calls]),
    report.durations.map(({ entry, calls }) => [entry, count(calls)]),
  );
  const { text } = await saved(page, '[data-table="durations"] ~ .table-foot button');
  const all = text.trim().split("\r\n")[1].split(",");
  assert.equal(Number(all[1]), report.durations_of_all.calls);
  assert.equal(Number(all[2]), report.durations_of_all.total_ns);
  assert.equal(Number(all.at(-1)), report.durations_of_all.max_ns);
  const linesOf = async (table) => (await saved(page, `[data-table="${table}"] ~ .table-foot button`)).text.trim().split("\r\n");
  const bins = (await linesOf("histogram")).slice(1); // whether it is drawn or not
  assert.equal(
    bins.reduce((sum, bin) => sum + Number(bin.split(",")[1]), 0),
    report.durations_of_all.calls,
  );
  assert.equal((await linesOf("slowest")).length, report.slowest_calls.length + 1);
  const slow = report.slowest_calls.findIndex((call, i) => i < 10 && call.stack.length > 0);
  await page.locator('[data-table="slowest"] tbody tr:not(.spacer)').nth(slow).click();
  await page.waitForFunction((row) => location.hash.endsWith(`row=${row}`), slow);
  const frames = await page.locator(".detail .frames .function").allTextContents();
  for (const { function: name } of report.slowest_calls[slow].stack)
    assert.ok(name === null || frames.some((frame) => frame.includes(name)), `${name} in ${frames.join("; ")}`);

  // The view follows the brush; its percentiles are upper ends of wider ranges than the report's.
  for (const [fragment, part] of [[`from=${report.first}&to=${report.last}`, report.within], [`at=${report.last}`, report.until]]) {
    await open(`#durations?${fragment}`);
    const [head, ...lines] = (await linesOf("durations")).map((line) => line.split(","));
    const told = [...part.durations, { ...part.durations_of_all, entry: "all of them" }];
    const at = (line, column) => Number(line[head.indexOf(column)]);
    assert.deepEqual(lines.map(([name]) => name).sort(), told.map(({ entry }) => entry).sort());
    // An entry without calls in the part has no times in the report, and zeros on the page.
    for (const { entry, calls, total_ns = 0, mean_ns = 0, max_ns = 0, p50_ns = 0, p99_ns = 0 } of told) {
      const line = lines.find(([name]) => name === entry);
      assert.deepEqual(["Calls", "Total", "Longest"].map((column) => at(line, column)), [calls, total_ns, max_ns]);
      assert.ok(Math.abs(at(line, "Mean") - mean_ns) < 0.11, `${at(line, "Mean")} for ${mean_ns}`); // halves are rounded either way
      for (const [column, ns] of [["50 %", p50_ns], ["99 %", p99_ns]])
        assert.ok(at(line, column) >= ns / 1.01 && at(line, column) <= 1.15 * ns + 1, `${entry} ${column}: ${at(line, column)} for ${ns}`);
    }
    assert.equal(
      (await linesOf("histogram")).slice(1).reduce((sum, bin) => sum + Number(bin.split(",")[1]), 0),
      part.durations_of_all.calls,
    );
    assert.ok((await page.locator("h2").first().textContent()).includes(count(part.durations_of_all.calls)));
  }
});
