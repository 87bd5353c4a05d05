// browser.mjs - the page of a running program in a real Chromium, for the checks in this folder
//
// node CHECK.mjs ADDRESS [FOLDER]   The test that runs it does what each line of stdout says, and answers "done".
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const fromWeb = createRequire(new URL("../../web/package.json", import.meta.url));
const { chromium } = fromWeb("playwright-core");
const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

export { assert };

/** Has the test do something. */
export async function tell(order) {
  console.log(order);
  assert.equal((await answers.next()).value, "done");
}

/** Opens the page with the shortest interval, and runs the check. A page that throws fails it. */
export async function followed(check) {
  const browser = await chromium.launch({ executablePath: process.env.HW_CHROMIUM, args: ["--no-sandbox"] });
  const complaints = [];
  try {
    const page = await (await browser.newContext({ viewport: { width: 1280, height: 800 }, acceptDownloads: true })).newPage();
    page.on("pageerror", (error) => complaints.push(error.stack));
    await page.goto(process.argv[2]);
    await page.waitForSelector("header.head .live");
    await page.getByLabel("Every").selectOption("100");
    await check(page);
  } finally {
    await browser.close();
    process.stdin.destroy();
  }
  assert.deepEqual(complaints, []);
}

/** Waits until a figure of the run or of the interval has a value. */
export async function figure(page, name, value) {
  await page.waitForFunction(
    ([wantedName, wantedValue]) =>
      [...document.querySelectorAll("dl.figures > div")].some(
        (each) => each.querySelector("dt").textContent === wantedName && each.querySelector("dd").firstChild.textContent === wantedValue,
      ),
    [name, value],
    { timeout: 20000 },
  );
}

export function button(page, name) {
  return page.getByRole("button", { name, exact: true });
}
