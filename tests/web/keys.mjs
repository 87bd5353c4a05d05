// keys.mjs - everything is reached by keyboard; the theme follows the system until the user sets it; text has contrast
import { assert, check } from "./browser.mjs";
import { AA_TEXT, contrast } from "./contrast.mjs";

const fragment = (page) => page.evaluate(() => location.hash);
const VIEWS = ["overview", "timeline", "flame", "leaks", "sizes", "threads", "lifetimes"];

const rgb = (text) => text.match(/[\d.]+/g).slice(0, 3).map(Number); // of "rgb(r, g, b)"

/** Every visible text with less contrast than AA requires. */
async function faintTexts(page) {
  const texts = await page.evaluate(() => {
    const found = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const element = node.parentElement;
      if (!node.textContent.trim() || !element.checkVisibility() || /^(SCRIPT|STYLE|TITLE)$/.test(element.tagName)) continue;
      let behind = element;
      while (behind && /, 0\)$|transparent/.test(getComputedStyle(behind).backgroundColor)) behind = behind.parentElement;
      const [ink, ground] = [getComputedStyle(element).color, getComputedStyle(behind ?? document.body).backgroundColor];
      found.push({ text: node.textContent.slice(0, 40), ink, ground });
    }
    return found;
  });
  const plain = texts.filter(({ ink, ground }) => ink.startsWith("rgb") && ground.startsWith("rgb"));
  assert.ok(plain.length > 10);
  return plain.filter(({ ink, ground }) => contrast(rgb(ink), rgb(ground)) < AA_TEXT);
}

await check(async ({ page, open }) => {
  await open("#leaks");
  for (const [i, view] of VIEWS.entries()) {
    await page.keyboard.press(String(i + 1));
    assert.ok((await fragment(page)).startsWith(`#${view}`), view);
    assert.equal(await page.locator('nav a[aria-current="page"]').getAttribute("href"), `#${view}`);
  }
  await page.keyboard.press("?");
  assert.ok(await page.locator('[role="dialog"]').isVisible());
  await page.keyboard.press("Escape");
  assert.equal(await page.locator('[role="dialog"]').count(), 0);
  await page.keyboard.press("3");
  await page.keyboard.press("c");
  assert.match(await fragment(page), /cost=live/);

  // Two keys before anything is drawn: the second one acts on the result of the first one.
  const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
  const twice = (pressed) =>
    page.evaluate((key) => {
      for (let i = 0; i < 2; i++) document.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    }, pressed);
  await twice("c");
  assert.match(await fragment(page), /cost=bytes/);

  // The heading of a column is reached by Tab; Enter and Space sort by it, and the focused element is marked.
  await open("#sizes");
  const heading = page.locator('[data-table="sizes"] th button').nth(1);
  const order = () => page.locator('[data-table="sizes"] th').nth(1).getAttribute("aria-sort");
  await page.locator('[data-table="sizes"]').focus();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  assert.ok(await heading.evaluate((button) => button === document.activeElement));
  await page.keyboard.press("Enter");
  assert.equal(await order(), "descending");
  await page.keyboard.press("Space");
  assert.equal(await order(), "ascending");
  const outline = () => page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
  assert.equal(await outline(), "solid");

  // Escape: the whole flame graph, the whole run; Enter in a table is a double click; arrows move in the tree.
  await open("#flame?cost=calls");
  await page.locator('[data-graph="flame"]').focus();
  for (const key of ["ArrowDown", "ArrowDown", "Enter"]) await page.keyboard.press(key);
  assert.match(await fragment(page), /zoom=\d/);
  await page.keyboard.press("Escape");
  assert.doesNotMatch(await fragment(page), /zoom/);
  const chosen = () => page.locator('[data-table="tree"] tr.chosen .name').textContent();
  await page.locator('[data-table="tree"]').focus();
  await page.keyboard.press("Home");
  const root = await chosen();
  await page.keyboard.press("ArrowRight");
  assert.notEqual(await chosen(), root);
  await page.keyboard.press("ArrowLeft"); // closes it,
  await page.keyboard.press("ArrowLeft"); // and goes to its caller
  assert.equal((await chosen()).slice(1), root.slice(1));
  await page.locator(".brush").focus();
  await page.keyboard.press("ArrowRight");
  assert.equal(await page.locator("[data-span]").count(), 1);
  await page.keyboard.press("Escape");
  assert.equal(await page.locator("[data-span]").count(), 0);
  await open("#threads");
  await page.locator('[data-table="threads"]').focus();
  for (const key of ["ArrowDown", "Enter"]) await page.keyboard.press(key);
  assert.match(await fragment(page), /thread=\d/);

  await page.emulateMedia({ colorScheme: "dark" });
  await page.waitForFunction(() => document.documentElement.dataset.theme === "dark");
  await page.keyboard.press("t");
  assert.equal(await theme(), "light");
  await page.keyboard.press("t");
  assert.equal(await theme(), "dark");
  await twice("t");
  assert.equal(await theme(), "dark");
  await open("#leaks");
  assert.equal(await theme(), "dark"); // it is remembered

  for (const scheme of ["dark", "light"]) {
    for (const view of VIEWS) {
      await open(`#${view}`);
      assert.deepEqual(await faintTexts(page), [], `${view}, ${scheme}`);
    }
    await page.keyboard.press("t");
  }

  // An invalid fragment shows the overview; of one with odd values, the valid part is used.
  const links = ["#nowhere", "#flame?zoom=999999999&cost=gold&from=9&to=1", "#leaks?row=99999999&sort=%00"];
  for (const odd of [...links, "#timeline?at=99999999999999"])
    await open(odd);
});
