// crash.mjs - the page of a core dump: how the process ended, as the head of the text has it, with the stack of its thread
import { assert, check, count } from "./browser.mjs";

await check(async ({ page, report, open }) => {
  await open("");
  const panel = page.locator("main .panel").first();
  const texts = (selector) => panel.locator(selector).allInnerTexts();

  assert.equal(await panel.locator("h2").innerText(), `It was killed by ${report.signal_name}`);
  const causes = [`Thread ${report.signal_thread} ${report.signal_text}`];
  if (report.abort_message) causes.push(`The C library ended it: ${report.abort_message}`);
  assert.deepEqual((await texts(".cause")).map((text) => text.trim()), causes);

  // A function that calls itself at one place has one line.
  const { signal_stack: frames } = report;
  const starts = frames.filter(({ address, function: name }, i) => i === 0 || address !== frames[i - 1].address || name !== frames[i - 1].function);
  const shown = await texts(".frames .function");
  assert.equal(shown.length, starts.length);
  starts.forEach(({ function: name, frames_left_out: left, address }, i) => {
    if (left !== undefined) assert.equal(shown[i], `… ${count(left)} more frames`);
    else if (name === null) assert.ok(shown[i].startsWith("?? ") && shown[i].includes(`0x${address.toString(16)}`), shown[i]);
    else assert.ok(shown[i].startsWith(name), `${shown[i]} is not ${name}`);
  });
  assert.equal(shown.some((text) => / times$/.test(text)), starts.length < frames.length);
  const where = await texts(".frames .where");
  starts.forEach(({ file, line }, i) => file && assert.ok(where[i].startsWith(`${file.split("/").pop()}:${line}`), where[i]));

  const next = await texts(".faint");
  assert.deepEqual(next.length, report.crash_address === undefined ? 0 : 1);
  if (next.length) assert.ok(next[0].includes("--around crash") && next[0].includes(`0x${report.crash_address.toString(16)}`), next[0]);
  assert.ok((await page.locator(".evidence").innerText()).includes(`killed by ${report.signal_name}`));
  const leftOut = await page.locator(".findings li", { hasText: "left out" }).count();
  assert.equal(leftOut, report.left_out.length);
});
