// page.mjs - the page of a running program in a real Chromium: figures move, count from now on, and follow what the program does
//
// node page.mjs ADDRESS FOLDER   Saves into the folder. The test that runs it does what each line of stdout says, and answers "done".
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const fromWeb = createRequire(new URL("../../web/package.json", import.meta.url));
const { chromium } = fromWeb("playwright-core");
const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

async function tell(order) {
  console.log(order);
  assert.equal((await answers.next()).value, "done");
}

const browser = await chromium.launch({ executablePath: process.env.HW_CHROMIUM, args: ["--no-sandbox"] });
const page = await (await browser.newContext({ viewport: { width: 1280, height: 800 }, acceptDownloads: true })).newPage();
const complaints = [];
page.on("pageerror", (error) => complaints.push(error.stack));

/** Waits until a figure of the run or of the interval has a value. */
async function figure(name, value) {
  await page.waitForFunction(
    ([wantedName, wantedValue]) =>
      [...document.querySelectorAll("dl.figures > div")].some(
        (each) => each.querySelector("dt").textContent === wantedName && each.querySelector("dd").firstChild.textContent === wantedValue,
      ),
    [name, value],
    { timeout: 20000 },
  );
}
const button = (name) => page.getByRole("button", { name, exact: true });

await page.goto(process.argv[2]);
await page.waitForSelector("header.head .live");
await page.getByLabel("Every").selectOption("100");
await figure("Allocations", "1");
await tell("1000");
await figure("Allocations", "1,001");
assert.match(await page.locator(".growing li").first().textContent(), /^\+100\.\d kB.*make ← allocate ← main/);

// From now on: everything counts from this moment, and one click undoes it.
await button("From now on").click();
await page.waitForSelector(".head .chip");
await figure("Allocations", "0");
await figure("At the start", "100.1 kB");
await tell("200");
await figure("Allocations", "200");
await figure("At the end", "120.1 kB");
assert.match(await page.locator(".growing li").first().textContent(), /^\+20\.0 kB/);
await page.getByRole("link", { name: "Sizes" }).click();
const row = page.locator('[data-table="sizes"] tbody tr:not(.spacer)').first();
await row.waitFor();
const cells = async () => (await row.locator("td").allTextContents()).map((text) => text.trim()).slice(0, 4);
assert.deepEqual(await cells(), ["100 B", "200", "0", "20.0 kB"]);
await button("Powers of two").click();
assert.deepEqual(await cells(), ["65 B – 128 B", "200", "0", "20.0 kB"]);
await page.getByRole("link", { name: "Overview" }).click();
await button("The whole run (x)").click();
await figure("Allocations", "1,201");

// Recording is switched off and on.
await button("Stop recording").click();
await button("Record").waitFor();
await tell("500");
await button("Record").click();
await button("Stop recording").waitFor();
await tell("10");
await figure("Allocations", "1,211");

page.once("dialog", (dialog) => dialog.accept("half way"));
await button("Mark").click();

// A pause keeps the figures.
await button("Pause").click();
await tell("10");
await page.waitForTimeout(500);
await figure("Allocations", "1,211");
await button("Go on").click();
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

await tell("restart the viewer");
await tell("10");
await figure("Allocations", "1,231");
await tell("kill the program");
await page.getByText("the program has ended").waitFor({ timeout: 20000 });
await figure("Allocations", "1,231");
await tell("end the viewer");
await page.getByText("no answer: is heapwright live still running?").waitFor({ timeout: 20000 });
await figure("Allocations", "1,231");
await browser.close();
assert.deepEqual(complaints, []);
process.stdin.destroy(); // nothing more to wait for
