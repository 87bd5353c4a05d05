// labels.mjs - stacks of the same functions are distinguished by a caller or a line; findings have one style
import { assert, check, rows } from "./browser.mjs";

await check(async ({ page, report, open }) => {
  await open("#overview");
  const labels = await page.locator(".top:not(.processes) .code").allTextContents();
  assert.ok(labels.length >= 2, labels.join());
  assert.equal(new Set(labels).size, labels.length, labels.join("; "));
  const twins = labels.filter((label) => label.startsWith("make"));
  const lines = twins.map((label) => /\(program\.c:(\d+)\)$/.exec(label)?.[1]);
  assert.ok(twins.length === 2 && lines.every((line) => line !== undefined) && lines[0] !== lines[1], twins.join("; "));
  const kinds = page.locator(".findings .kind");
  assert.equal(await kinds.count(), report.findings.length);
  for (let i = 0; i < report.findings.length; i++)
    assert.equal(await kinds.nth(i).evaluate((kind) => getComputedStyle(kind, "::first-letter").textTransform), "uppercase");

  // So are the rows of tables; in little room neither the function's name nor the line that distinguishes them is cut.
  for (const [view, column] of [["leaks", 0], ["lifetimes", 0]]) {
    await open(`#${view}`);
    const named = (await rows(page, view)).map((row) => row[column]);
    const made = named.filter((text) => text.startsWith("make ← twice ← main ("));
    assert.ok(made.length === 2 && made[0] !== made[1] && made.every((text) => /\(program\.c:\d+\)$/.test(text)), named.join("; "));
    const filled = named.filter((text) => text.startsWith("fill ← near ← middle")).sort();
    const lines = ["left_caller", "right_caller"].map((caller) => `fill ← near ← middle ← … ← ${caller}`);
    assert.deepEqual(filled, lines, named.join("; "));
    const given = named.filter((text) => /^give ← inner ← outer( ← … ← main)? \(program\.c:\d+, \d+\)$/.test(text));
    assert.equal(new Set(given).size, 4, named.join("; "));
  }
  assert.equal(await page.locator(".stack-line .place", { hasText: "program.c" }).count(), 6);
  for (const width of [1280, 800, 380]) {
    await page.setViewportSize({ width, height: 800 });
    const cut = await page.$$eval(".stack-line .asks, .stack-line .place", (names) =>
      names.filter((name) => name.scrollWidth > name.clientWidth + 1).map((name) => name.textContent), // widths are rounded
    );
    assert.deepEqual(cut, [], `${width} px`);
  }
});
