// reset.mjs - the program itself makes a moment the one from which the page counts
//
// node reset.mjs ADDRESS   As page.mjs.
import { assert, button, figure, followed, tell } from "./browser.mjs";

await followed(async (page) => {
  await tell("300");
  await figure(page, "Blocks at peak", "300");
  await tell("reset");
  await page.waitForSelector(".head .chip");
  await figure(page, "Allocations", "0");
  await tell("20");
  await figure(page, "Allocations", "20");
  assert.match(await page.locator(".growing li").first().textContent(), /^\+/);
  await button(page, "The whole run (x)").click();
  await figure(page, "Blocks at peak", "320");
});
