// browser.mjs - a page of a recording in a real Chromium, for the checks in this folder
//
// node CHECK.mjs PAGE REPORT_JSON   runs what the check exports. A check that fails throws; so does a page that writes to its
// console, throws, or requests anything except itself.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const fromWeb = createRequire(new URL("../../web/package.json", import.meta.url));
const { chromium } = fromWeb("playwright-core");

export { assert };

export async function check(run) {
  const [file, reportFile] = process.argv.slice(2);
  const report = JSON.parse(await readFile(reportFile, "utf8"));
  const browser = await chromium.launch({ executablePath: process.env.HW_CHROMIUM, args: ["--no-sandbox"] });
  const complaints = [];
  try {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, acceptDownloads: true });
    const page = await context.newPage();
    page.on("console", (message) => complaints.push(message.text()));
    page.on("pageerror", (error) => complaints.push(error.stack));
    page.on("request", (request) => {
      if (!/^(file|blob|data):/.test(request.url())) complaints.push(`asked for ${request.url()}`);
    });
    const open = async (fragment) => {
      await page.goto("about:blank");
      await page.goto(pathToFileURL(file).href + fragment);
      await page.waitForSelector("header.head");
    };
    await run({ page, report, open });
  } finally {
    await browser.close();
  }
  assert.deepEqual(complaints, []);
}

/** Returns the text of the cells of a table's drawn rows; some tables appear a frame after the rest of their view. */
export async function rows(page, table) {
  await page.waitForSelector(`[data-table="${table}"]`, { state: "attached" });
  return page.$$eval(`[data-table="${table}"] tbody tr:not(.spacer)`, (found) =>
    found.map((row) => [...row.cells].map((cell) => cell.textContent.trim())),
  );
}

/** 12,481,903 */
export function count(number) {
  return number.toLocaleString("en-US");
}

/** Returns the bytes of text such as 412.6 MB, as exactly as the text is. */
function bytesOf(text) {
  const [number, unit] = text.replaceAll(",", "").split(" ");
  const power = ["B", "kB", "MB", "GB", "TB"].indexOf(unit ?? "B");
  const rounded = power ? 0.051 : 0;
  return { least: (Number(number) - rounded) * 1000 ** power, most: (Number(number) + rounded) * 1000 ** power };
}

/** Asserts that text such as 412.6 MB stands for this number of bytes. */
export function assertBytes(text, bytes) {
  const { least, most } = bytesOf(text);
  assert.ok(least <= bytes && bytes <= most, `${text} is not ${bytes}`);
}

/** Returns the file that a button downloads, as text. */
export async function saved(page, button) {
  const [download] = await Promise.all([page.waitForEvent("download"), page.click(button)]);
  return { name: download.suggestedFilename(), text: await readFile(await download.path(), "utf8") };
}

/** Returns the share of a run's time by which a share of its calls were made: when threads begin depends on the machine. */
export function timeOf(report, share) {
  let calls = 0;
  const step = report.timeline.find(({ allocation_calls }) => (calls += allocation_calls) >= share * report.allocation_calls);
  return Math.min(step.time_ns / report.duration_ns, 0.95);
}

/** Drags over a chart, from one share of its width to another. */
export async function drag(page, chart, from, to) {
  const box = await page.locator(`${chart} .u-over`).boundingBox();
  const y = box.y + box.height / 2;
  await page.mouse.move(box.x + from * box.width, y);
  await page.mouse.down();
  await page.mouse.move(box.x + ((from + to) / 2) * box.width, y);
  await page.mouse.move(box.x + to * box.width, y);
  await page.mouse.up();
}

/** Presses on an element until the browser takes that for scrolling, and moves the pointer on. */
export async function scrollFrom(page, element) {
  const box = await element.boundingBox();
  const [x, y] = [box.x + box.width / 2, box.y + 20];
  await page.mouse.move(x, y);
  await page.mouse.down();
  await element.dispatchEvent("pointercancel");
  await page.mouse.move(x - box.width / 4, y);
  await page.mouse.up();
  await drawn(page);
}

/** Returns the URL's fragment after a change of the interval, when it contains the interval that is shown. */
export async function settled(page, before) {
  await page.waitForFunction((old) => {
    const shown = document.querySelector("[data-span]")?.dataset.span;
    return location.hash !== old && shown !== undefined && location.hash.includes(shown);
  }, before);
  return page.evaluate(() => location.hash);
}

/** Waits until a requested change is on the screen: effects run after the first frame, and may request another one. */
export function drawn(page) {
  return page.evaluate(async () => {
    for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame);
  });
}
