// labels.mjs - stacks of the same functions are told apart by the line where they part; findings have one style
import { assert, check } from "./browser.mjs";

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
});
