// processes.mjs - a page of a run of several processes says which of them it is of, and how to see the others
import { assert, check, count } from "./browser.mjs";

const PICKED_MOST = 7;

/** The page can be turned to the other processes that allocated most: by list, by key and by link; the figures are theirs. */
async function turnsToOthers(page, open, report) {
  const picker = page.getByLabel("Process", { exact: true });
  const shown = () => page.locator('[data-figure="Allocations"]').textContent();
  const isHere = (process) => process.peak_bytes !== undefined;
  const isTogether = report.processes.filter(isHere).length > 1;
  const others = report.processes
    .filter((process) => (isTogether || !isHere(process)) && process.allocated_bytes > 0)
    .sort((a, b) => b.allocated_bytes - a.allocated_bytes)
    .slice(0, PICKED_MOST);
  const choices = await picker.locator("option").evaluateAll((options) => options.map(({ value }) => Number(value)));
  assert.deepEqual(choices, [0, ...others.map(({ pid }) => pid)]);
  for (const { pid, command, allocation_calls } of others) {
    await picker.selectOption(String(pid));
    assert.ok((await shown()).startsWith(count(allocation_calls)), `${pid}: ${await shown()}`);
    assert.ok((await page.locator(".head .command").textContent()).includes(command));
  }
  const { pid, allocation_calls } = others[0];
  await open(`#overview?process=${pid}`);
  assert.ok((await shown()).startsWith(count(allocation_calls)));
  assert.match(await page.locator(".processes li", { hasText: String(pid) }).textContent(), /shown/);
  await page.locator(".processes a", { hasText: others.at(-1).command }).last().click();
  await page.waitForFunction((last) => location.hash.includes(`process=${last}`), others.at(-1).pid);
  await open("#overview");
  await page.keyboard.press("p");
  assert.equal(await picker.inputValue(), String(pid));
  await page.keyboard.press("Shift+P");
  assert.equal(await picker.inputValue(), "0");
  assert.ok((await shown()).startsWith(count(report.allocation_calls)));
}

await check(async ({ page, report, open }) => {
  await open("#overview");
  const largest = [...report.processes].sort((a, b) => b.allocated_bytes - a.allocated_bytes);
  const together = report.processes.filter((process) => process.peak_bytes !== undefined).length;
  const heading = await page.locator("h3.later").textContent();
  const listed = await page.locator(".processes li").allTextContents();
  assert.equal(listed.length, Math.min(12, largest.length));
  listed.forEach((text, i) => assert.ok(text.includes(largest[i].command.slice(0, 20)), text));
  const evidence = await page.locator(".evidence dt").allTextContents();
  const facts = await page.locator(".head .facts").textContent();
  await turnsToOthers(page, open, report);
  if (together > 1) {
    const [first] = [...report.processes].sort((a, b) => a.from_ns - b.from_ns);
    assert.equal(await page.locator(".head .command").textContent(), first.command); // the run, not its largest process
    assert.notEqual(first.command, largest[0].command);
    assert.equal(heading, `${largest.length} processes together`);
    for (const name of ["Ended", "Gap", "Program", "Directory"]) // of one alone
      assert.ok(!evidence.includes(name), evidence.join());
    assert.ok(facts.startsWith(`${together} processes`), facts);
    return;
  }
  assert.ok(heading.startsWith(`Process ${report.pid} of ${largest.length}: `), heading);
  assert.ok(facts.startsWith(`pid ${report.pid}`), facts);
  assert.match(listed[0], /shown/);
  assert.ok(evidence.includes("Program"), evidence.join());
  const held = 1 + PICKED_MOST; // of others it names the command that shows them
  const commands = await page.locator(".commands").textContent();
  assert.match(commands, /^heapwright report --children -o all\.html \S+$/m);
  assert.equal(/^heapwright report --pid \d+/m.test(commands), listed.length > held);
});
