// find.mjs - a pattern keeps the stacks that contain a frame with a matching name, in every table of stacks
import { assert, check, saved } from "./browser.mjs";

await check(async ({ page, open }) => {
  const found = async (view, pattern) => {
    await open(`#${view}?find=${encodeURIComponent(pattern)}`);
    const { text } = await saved(page, `[data-table="${view}"] ~ .table-foot button`);
    return text.trim().split("\r\n").length - 1;
  };
  for (const view of ["leaks", "lifetimes"]) {
    const all = await found(view, "");
    const kept = await found(view, "keep");
    assert.ok(kept > 0 && (view === "leaks" || kept < all), `${view}: ${kept} of ${all}`); // all that leaks is kept by keep
    assert.equal(await found(view, "func=keep"), kept);
    assert.equal(await found(view, "no_such_function_here"), 0);
    assert.ok((await page.locator(`[data-table="${view}"]`).textContent()).includes("No stack matches."));
    assert.ok((await found(view, "file=*.c")) >= kept);
    assert.ok((await found(view, "module=libc*")) > 0); // threads begin there
    assert.equal(await found(view, "module=keep"), 0);
  }

  // A pattern that is typed in one view stays in the others.
  await open("#leaks");
  await page.keyboard.press("/");
  await page.keyboard.type("keep");
  await page.keyboard.press("Enter");
  assert.match(await page.locator(".find span").textContent(), /^\d+ stacks?, /);
  await page.keyboard.press("3");
  assert.equal(await page.locator(".find input").inputValue(), "keep");
  assert.match(await page.locator(".find span").textContent(), /frames/);
});
