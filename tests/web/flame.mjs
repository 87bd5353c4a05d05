// flame.mjs - zoom with its history, search with patterns, the sandwich, sorting, and pictures to save
import { assert, check, rows, saved } from "./browser.mjs";

const fragment = (page) => page.evaluate(() => location.hash);

await check(async ({ page, open }) => {
  await open("#flame?cost=bytes");
  const canvas = await page.locator('[data-graph="flame"] canvas').boundingBox();
  const clickRow = (row) => page.mouse.click(canvas.x + 40, canvas.y + row * 20 + 10);

  // Zoom: into a frame, further in, and back step by step.
  await clickRow(2);
  const first = await fragment(page);
  assert.match(first, /zoom=\d+/);
  await clickRow(3);
  assert.notEqual(await fragment(page), first);
  await page.goBack();
  assert.equal(await fragment(page), first);
  await page.goBack();
  assert.doesNotMatch(await fragment(page), /zoom=/);
  await page.goForward();
  assert.equal(await fragment(page), first);
  assert.ok((await page.locator(".crumbs button").count()) > 1);
  await page.locator(".crumbs button").first().click();
  assert.doesNotMatch(await fragment(page), /zoom=/);

  // The keyboard does the same.
  await page.locator('[data-graph="flame"]').focus();
  for (const key of ["ArrowDown", "ArrowDown", "Enter"]) await page.keyboard.press(key);
  assert.match(await fragment(page), /zoom=\d+/);
  const zoomed = await fragment(page);
  await page.keyboard.press("Backspace");
  assert.notEqual(await fragment(page), zoomed);

  // Search: a part of a name, a pattern, a regular expression, an invalid one.
  await page.keyboard.press("/");
  const result = () => page.locator(".find span").textContent();
  const search = async (pattern) => {
    await page.locator(".find input").fill(pattern);
    return result();
  };
  assert.match(await search("main"), /frames/);
  assert.match(await search("m*n"), /frames/);
  assert.match(await search("/^mai?n$/"), /frames/);
  assert.equal(await search("no_such_function_here"), "no match");
  assert.match(await search("/(/"), /regular expression/i);
  await page.keyboard.press("Escape");
  assert.equal(await page.locator(".find input").inputValue(), "");
  await page.locator(".crumbs button").first().click();

  // Hovering shows a frame's details.
  await page.mouse.move(canvas.x + 40, canvas.y + 50);
  assert.match(await page.locator(".hover").textContent(), /Total.*Self/);

  // The picture as SVG is XML with the names in it.
  const { name, text } = await saved(page, ".flame-frame .save-picture");
  assert.equal(name, "flame.svg");
  const parsed = (svg) => new DOMParser().parseFromString(svg, "image/svg+xml").querySelector("parsererror")?.textContent;
  const problems = await page.evaluate(parsed, text);
  assert.equal(problems, undefined);
  assert.match(text, />churn</);

  // Keys open and close the tree; columns sort it.
  const tree = page.locator('[data-table="tree"]');
  await tree.focus();
  await page.keyboard.press("Home");
  const open1 = (await rows(page, "tree")).length;
  await page.keyboard.press("ArrowLeft");
  assert.equal((await rows(page, "tree")).length, 1);
  await page.keyboard.press("ArrowRight");
  assert.equal((await rows(page, "tree")).length, open1);
  await tree.locator("th button", { hasText: "Function" }).click();
  assert.equal(await tree.locator("th").first().getAttribute("aria-sort"), "ascending");
  await page.waitForFunction(() => location.hash.includes("sort=name"));

  // The sandwich: the list of functions can be sorted; the selected one is in the middle.
  await page.click("text=Sandwich");
  const selfs = (await rows(page, "functions")).map((row) => row[2]);
  assert.ok(selfs.length > 3);
  await page.locator('[data-table="functions"] th button', { hasText: "Total" }).click();
  await page.waitForFunction(() => location.hash.includes("sort=total-"));
  await page.locator('[data-table="functions"] tbody tr:not(.spacer)').nth(1).click();
  assert.match(await fragment(page), /of=\d+/);
  assert.equal(await page.locator('[data-graph="callers"]').count(), 1);
});
