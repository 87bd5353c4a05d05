// page.mjs - the page of a running program in a real Chromium: figures move, count from now on, and follow what the program does
//
// node page.mjs ADDRESS FOLDER   Saves into the folder. The test that runs it does what each line of stdout says, and answers "done".
import { assert, button, figure as figureOf, followed, tell } from "./browser.mjs";

await followed(async (page) => {
  const figure = (name, value) => figureOf(page, name, value);
  await figure("Allocations", "1");
  await tell("1000");
  await figure("Allocations", "1,001");
  assert.match(await page.locator(".growing li").first().textContent(), /^\+100\.\d kB.*make ← allocate ← main/);

  // A second page of the same server has choices of its own.
  const second = await page.context().newPage();
  await second.goto(`${process.argv[2]}#sizes`);
  await second.locator('[data-table="sizes"] tbody tr:not(.spacer)', { hasText: "1,001" }).waitFor();
  await page.bringToFront();

  // From now on: everything counts from this moment, and one click undoes it.
  await button(page, "From now on").click();
  await page.waitForSelector(".head .chip");
  await figure("Allocations", "0");
  await figure("At the start", "100.1 kB");
  await tell("200");
  await figure("Allocations", "200");
  await second.bringToFront();
  await second.locator('[data-table="sizes"] tbody tr:not(.spacer)', { hasText: "1,201" }).waitFor();
  await second.close();
  await page.bringToFront();
  await figure("At the end", "120.1 kB");
  assert.match(await page.locator(".growing li").first().textContent(), /^\+20\.0 kB/);
  await page.getByRole("link", { name: "Sizes" }).click();
  const row = page.locator('[data-table="sizes"] tbody tr:not(.spacer)').first();
  await row.waitFor();
  const cells = async () => (await row.locator("td").allTextContents()).map((text) => text.trim()).slice(0, 4);
  assert.deepEqual(await cells(), ["100 B", "200", "0", "20.0 kB"]);
  await button(page, "Powers of two").click();
  assert.deepEqual(await cells(), ["65 B – 128 B", "200", "0", "20.0 kB"]);
  await page.getByRole("link", { name: "Overview" }).click();
  await button(page, "The whole run (x)").click();
  await figure("Allocations", "1,201");

  // Recording is switched off and on.
  await button(page, "Stop recording").click();
  await button(page, "Record").waitFor();
  await tell("500");
  await button(page, "Record").click();
  await button(page, "Stop recording").waitFor();
  await tell("10");
  await figure("Allocations", "1,211");

  page.once("dialog", (dialog) => dialog.accept("half way"));
  await button(page, "Mark").click();

  // A pause keeps the figures.
  await button(page, "Pause").click();
  await tell("10");
  await page.waitForTimeout(500);
  await figure("Allocations", "1,211");
  await button(page, "Go on").click();
  await figure("Allocations", "1,221");

  // The last seconds move on: after them, nothing was allocated.
  await page.getByLabel("Show").selectOption("-5000000000");
  await figure("Allocations", "0");
  await page.getByLabel("Show").selectOption("0");

  for (const name of ["page", "CSV"]) {
    const waiting = page.waitForEvent("download");
    await page.locator(".save").getByText(name).click();
    await (await waiting).saveAs(`${process.argv[3]}/saved.${name}`);
  }

  await page.locator(".save").getByText("trace").click();
  await page.getByText("saved as").waitFor();
  await tell(`saved as ${(await page.locator(".said").textContent()).replace("saved as ", "")}`);

  // Another process of the run is shown alone.
  await tell("p 20");
  await figure("Allocations", "1,241");
  const names = await page.getByLabel("Process").locator("option").allTextContents();
  assert.match(names[0], /^all 2 together$/);
  await page.getByLabel("Process").selectOption({ index: 2 });
  await figure("Allocations", "20");
  await page.getByLabel("Process").selectOption({ index: 0 });
  await figure("Allocations", "1,241");

  await tell("restart the viewer");
  await tell("10");
  await figure("Allocations", "1,251");
  await tell("kill the program");
  await page.getByText("the program has ended").waitFor({ timeout: 20000 });
  await figure("Allocations", "1,251");
  await tell("end the viewer");
  await page.getByText("no answer: is heapwright live still running?").waitFor({ timeout: 20000 });
  await figure("Allocations", "1,251");
});
