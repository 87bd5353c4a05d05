// prepared.mjs - what views are drawn from is prepared while nobody does anything: a move of the pointer puts it off
import { check } from "./browser.mjs";

await check(async ({ page, open }) => {
  await page.addInitScript(() => {
    window.pieces = [];
    window.requestIdleCallback = (callback) => window.pieces.push(callback);
  });
  await open("#overview");
  await page.waitForFunction(() => window.pieces.length === 1);
  await page.evaluate(() => {
    dispatchEvent(new PointerEvent("pointermove"));
    window.pieces[0]();
  });
  await page.waitForFunction(() => window.pieces.length === 2); // done at once, it would not have asked again
});
