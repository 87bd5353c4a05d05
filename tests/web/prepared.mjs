// prepared.mjs - the data of views is prepared while the user is idle: a move of the pointer postpones it, a pressed
// button postpones it until it is released, and then all of it is done
import { assert, check } from "./browser.mjs";

await check(async ({ page, open }) => {
  await page.addInitScript(() => {
    window.pieces = [];
    window.requestIdleCallback = (callback) => window.pieces.push(callback);
    /** Runs the last requested work as if it took no time. Returns how often it read the time. */
    window.goOn = (atMs) => {
      let asked = 0;
      const now = performance.now;
      performance.now = () => (asked++, atMs);
      window.pieces.at(-1)();
      performance.now = now;
      return asked;
    };
    window.moved = (type, buttons) => dispatchEvent(new PointerEvent(type, { buttons }));
  });
  await open("#overview");
  await page.waitForFunction(() => window.pieces.length === 1);
  const did = (type, buttons) =>
    page.evaluate(([type, buttons]) => {
      window.moved(type, buttons);
      return window.goOn(performance.now());
    }, [type, buttons]);
  const later = () => page.evaluate(() => window.goOn(performance.now() + 1e6));
  const asksAgain = (times) => page.waitForFunction((count) => window.pieces.length === count, times);

  assert.equal(await did("pointermove", 0), 1);
  await asksAgain(2);
  assert.equal(await did("pointerdown", 1), 1);
  await asksAgain(3);
  assert.equal(await later(), 1); // still held
  await asksAgain(4);
  assert.equal(await did("pointerup", 0), 1);
  await asksAgain(5);
  const steps = await later();
  assert.ok(steps > 10, `${steps} steps`);
  assert.equal(await page.evaluate(() => window.pieces.length), 5);
});
