// redis.mjs - a busy server is followed: its figures move, are those of the recording, and follow the viewer's choices
//
// node redis.mjs ADDRESS SECONDS
import { assert, button, figure, followed, tell } from "./browser.mjs";

const seconds = Number(process.argv[3]);
const PATIENCE_MS = 60000;

await followed(async (page) => {
  const runs = []; // of all documents that came; the page shows none that comes when it is paused
  page.on("response", async (response) => {
    if (response.url().includes("/document") && response.ok()) runs.push((await response.json()).run);
  });
  await page.getByLabel("Every").selectOption("1000");
  const allocations = async () =>
    Number((await page.locator("dl.figures > div", { hasText: /^Allocations[\d,]/ }).first().locator("dd").evaluate((dd) => dd.firstChild.textContent)).replaceAll(",", ""));
  let before = 0;
  let moved = 0;
  const end = Date.now() + seconds * 1000;
  const latest = end + PATIENCE_MS; // on a machine that is busy with other things
  while (Date.now() < end || (moved < 3 && Date.now() < latest)) {
    await page.waitForTimeout(1000);
    const now = await allocations();
    assert.ok(now >= before);
    moved += Number(now > before);
    before = now;
  }
  assert.ok(moved >= 3, `${moved} of ${seconds}`);

  // The figures of a moment are those of the recording that is saved after it, up to that moment.
  await button(page, "Pause").click();
  await page.waitForTimeout(3000); // a document that was asked for already
  const shown = await allocations();
  const run = runs.find((each) => each.allocation_calls === shown);
  assert.ok(run, `${shown}`);
  await page.locator(".save").getByText("trace").click();
  await page.getByText("saved as").waitFor({ timeout: 120000 });
  const path = (await page.locator(".said").textContent()).replace("saved as ", "");
  await tell(`compare ${JSON.stringify({ path, run })}`);
  await button(page, "Go on").click();

  // From now on; one thread alone.
  await button(page, "From now on").click();
  await page.waitForSelector(".head .chip");
  await page.waitForFunction((all) => Number([...document.querySelectorAll("dl.figures > div")].find((each) => each.querySelector("dt").textContent === "Allocations").querySelector("dd").firstChild.textContent.replaceAll(",", "")) < all, run.allocation_calls);
  await page.locator(".growing, .panel .faint").first().waitFor();
  await page.getByLabel("Thread").selectOption({ index: 1 });
  await page.getByRole("link", { name: "Flame graph" }).click();
  await page.waitForSelector("canvas");
  await page.waitForTimeout(3000);
  await page.getByRole("link", { name: "Overview" }).click();
  await button(page, "The whole run (x)").click();
  await figure(page, "RSS now", "–"); // of one thread
  await tell("kill");
  await page.getByText("the program has ended").waitFor({ timeout: 60000 });
  const [last, thread] = [await allocations(), await page.getByLabel("Thread").inputValue()];
  assert.ok(last > 0 && thread !== "-1");
});
