// cut.mjs - no view cuts a figure at a width of 900 pixels or more, however large it is; names are shortened instead
import { assert, check } from "./browser.mjs";

const WIDTHS = [900, 1024, 1280, 1440, 1920];
const FACTOR = 10_000_019; // for every count that is shown

await check(async ({ page, open }) => {
  await page.addInitScript((factor) => {
    const format = Object.getOwnPropertyDescriptor(Intl.NumberFormat.prototype, "format").get;
    Object.defineProperty(Intl.NumberFormat.prototype, "format", {
      get() {
        const own = format.call(this);
        return this.resolvedOptions().maximumFractionDigits === 0 ? (value) => own(value * factor) : own;
      },
    });
  }, FACTOR);

  /** Each text of a figure that ends outside of its own cell, or outside of the element that clips it. */
  const cut = () =>
    page.evaluate(() => {
      const figures = "td.figure, td.whole, th, .figure, dt, [data-figure], [data-figure] small, figcaption, .chip, .legend small";
      const found = [];
      for (const element of document.querySelectorAll(figures)) {
        if (!element.checkVisibility() || !/\d/.test(element.textContent)) continue;
        const range = document.createRange();
        range.selectNodeContents(element);
        const text = range.getBoundingClientRect();
        for (let around = element; around !== document.body; around = around.parentElement) {
          const cuts = around === element || ["hidden", "clip"].includes(getComputedStyle(around).overflowX);
          const box = around.getBoundingClientRect();
          if (cuts && text.width > 0 && (text.right > box.right + 1 || text.left < box.left - 1))
            found.push(`${element.tagName}.${element.className}: ${element.textContent} in ${around.tagName}.${around.className}`);
          if (["auto", "scroll"].includes(getComputedStyle(around).overflowX)) break; // it is there, beyond the edge
        }
      }
      return found;
    });

  await open("#overview");
  const views = await page.$$eval("nav a", (links) => links.map((link) => link.getAttribute("href")));
  assert.ok(views.length >= 3, `views: ${views}`);
  const largest = [];
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 800 });
    for (const view of views) {
      await page.click(`nav a[href="${view}"]`);
      await page.waitForFunction(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true)))));
      assert.deepEqual(await cut(), [], `${view} at ${width}`);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${view} at ${width} is scrolled`);
      largest.push(...((await page.textContent("main")).match(/\d{1,3}(,\d{3}){3,}/g) ?? []));
    }
  }
  assert.ok(largest.length > 0, "no figure was large");
});
