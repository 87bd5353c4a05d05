// names.mjs - names that are markup, quotes, emoji or 10,000 characters are text in every view, and in saved files
import { assert, check, drawn, saved } from "./browser.mjs";

await check(async ({ page, open }) => {
  for (const view of ["overview", "timeline", "flame", "flame?mode=sandwich", "leaks", "sizes", "threads", "lifetimes"]) {
    await open(`#${view}`);
    await drawn(page);
    const alien = await page.evaluate(() => ({
      ran: window.ran_from_a_name === true,
      elements: document.querySelectorAll("#page script, #page img, #page b[title=evil]").length,
    }));
    assert.deepEqual(alien, { ran: false, elements: 0 }, view);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
    assert.equal(wide, false, `${view} is wider than the window`);
  }
  await open("#flame?mode=sandwich");
  const { text } = await saved(page, '[data-table="functions"] ~ .table-foot button');
  for (const name of ["<script>", "🦀"]) assert.ok(text.includes(name), name);
  assert.ok(text.split("\r\n").some((line) => line.length > 10000), "the long name is whole");
  await open("#flame");
  const picture = await saved(page, ".flame-frame .save-picture");
  const parsed = (svg) => new DOMParser().parseFromString(svg, "image/svg+xml").querySelector("parsererror")?.textContent;
  const problems = await page.evaluate(parsed, picture.text);
  assert.equal(problems, undefined);
});
