// findings.mjs - the link of a finding shows its view, with the cost that the finding is about
import { assert, check } from "./browser.mjs";

await check(async ({ page, report, open }) => {
  await open("#overview");
  const kinds = report.findings.map((finding) => finding.kind);
  assert.ok(kinds.includes("container_growth"), kinds.join());
  await page.locator(".findings a").nth(kinds.indexOf("container_growth")).click();
  await page.waitForFunction(() => location.hash.startsWith("#flame"));
  const shown = await page.evaluate(() => new URLSearchParams(location.hash.split("?")[1]).get("cost"));
  assert.equal(shown, "calls");
});
