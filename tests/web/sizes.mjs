// sizes.mjs - the selected size stays selected, whatever part of the run is shown; sizes that only hold blocks count
import { assert, check, drag, rows, settled } from "./browser.mjs";

await check(async ({ page, report, open }) => {
  const title = () => page.locator(".chart", { hasText: "Live bytes of blocks of" }).locator("figcaption b").textContent();
  const row = (size) => page.locator('[data-table="sizes"] tbody tr', { hasText: size }).first();

  await open("#sizes");
  await row("24 B").click();
  const chosen = await title();
  assert.match(chosen, /of 24 B$/);
  await page.waitForFunction(() => location.hash.includes("row="));
  const before = await page.evaluate(() => location.hash);
  await drag(page, ".strip", 0.1, 0.6);
  const within = await settled(page, before);
  assert.equal(await title(), chosen);
  await open(within.replace("row=24", "row=48")); // which has no blocks there, and no row
  assert.match(await title(), /of 48 B$/);

  // A curve of the timeline leads to its size.
  await open("#timeline?curves=sizes");
  const curve = page.locator(".chart").first().locator(".legend button", { hasText: "24 B" });
  await curve.click();
  assert.equal(await title(), chosen);

  // Blocks that are held through most of an interval, and freed in it.
  const last = report.top.find(({ bytes }) => bytes === 300 * 24).last_ns; // and then the program sleeps for 100 ms
  await open(`#sizes?from=${last + 50e6}&to=${report.duration_ns}`);
  const held = (await rows(page, "sizes")).find(([size]) => size === "5,000 B");
  assert.ok(held !== undefined, JSON.stringify(await rows(page, "sizes")));
  assert.equal(held[1], "0");
});
