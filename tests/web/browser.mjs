// browser.mjs - a page of a recording in a real Chromium, for the checks beside it
//
// node CHECK.mjs PAGE REPORT_JSON   runs what the check exports. A check that fails throws; so does a page that writes to its
// console, throws, or asks for anything but itself.
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

/** The text of the cells of a table's drawn rows; some tables come a frame after the rest of their view. */
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

/** Bytes of text such as 412.6 MB, as exactly as it says. */
function bytesOf(text) {
  const [number, unit] = text.replaceAll(",", "").split(" ");
  const power = ["B", "kB", "MB", "GB", "TB"].indexOf(unit ?? "B");
  const rounded = power ? 0.051 : 0;
  return { least: (Number(number) - rounded) * 1000 ** power, most: (Number(number) + rounded) * 1000 ** power };
}

/** Text such as 412.6 MB is of so many bytes. */
export function assertBytes(text, bytes) {
  const { least, most } = bytesOf(text);
  assert.ok(least <= bytes && bytes <= most, `${text} is not ${bytes}`);
}

/** A file that a button hands out, as text. */
export async function saved(page, button) {
  const [download] = await Promise.all([page.waitForEvent("download"), page.click(button)]);
  return { name: download.suggestedFilename(), text: await readFile(await download.path(), "utf8") };
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

/** The fragment after a change of the interval, when the URL has followed to the one that is shown. */
export async function settled(page, before) {
  await page.waitForFunction((old) => {
    const shown = document.querySelector("[data-span]")?.dataset.span;
    return location.hash !== old && shown !== undefined && location.hash.includes(shown);
  }, before);
  return page.evaluate(() => location.hash);
}

/** When what was asked for is on the screen: effects run after the first frame, and may ask for another one. */
export function drawn(page) {
  return page.evaluate(async () => {
    for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame);
  });
}
