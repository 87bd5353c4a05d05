// difference_durations.mjs - the durations of calls in two runs are those of `report --durations --json` for each
import { assert, check, count, drag, rows, saved } from "./browser.mjs";

await check(async ({ page, report, open }) => {
  const { old, now } = report;
  await open("");
  await page.keyboard.press("3");
  const of = (run, name) => run.durations.find(({ entry }) => entry === name)?.calls ?? 0;
  const shown = await rows(page, "durations");
  for (const [name, before, after] of shown.filter(([entry]) => entry !== "all of them"))
    assert.deepEqual([before, after], [count(of(old, name)), count(of(now, name))], name);
  assert.equal(shown.length, new Set([...old.durations, ...now.durations].map(({ entry }) => entry)).size + 1);

  const { text } = await saved(page, '[data-table="durations"] ~ .table-foot button');
  const fieldsOf = (line) => line.match(/("[^"]*"|[^,]*)(,|$)/g).map((field) => field.replace(/,$/, "").replaceAll('"', ""));
  const [titles, ...lines] = text.trim().split("\r\n").map(fieldsOf);
  const all = lines.find(([entry]) => entry === "all of them");
  const figure = (title) => Number(all[titles.indexOf(title)]);
  const [before, after] = [old.durations_of_all, now.durations_of_all];
  assert.deepEqual([figure("Mean old"), figure("Mean new")], [before.mean_ns, after.mean_ns]);
  assert.deepEqual([figure("Total old"), figure("Total new")], [before.total_ns, after.total_ns]);
  assert.equal(figure("Total ±"), after.total_ns - before.total_ns);
  assert.deepEqual([figure("Longest old"), figure("Longest new")], [before.max_ns, after.max_ns]);

  // The same interval of both runs: two parts add up to the whole.
  const longest = Math.max(old.duration_ns, now.duration_ns);
  const callsIn = async (span) => {
    await open(`#durations?${span}`);
    const [, oldCalls, newCalls] = (await rows(page, "durations")).find(([entry]) => entry === "all of them");
    return [oldCalls, newCalls].map((calls) => Number(calls.replaceAll(",", "")));
  };
  const middle = Math.round(0.5 * longest);
  const [early, late, until] = [await callsIn(`from=0&to=${middle}`), await callsIn(`from=${middle}&to=${longest}`), await callsIn(`at=${middle}`)];
  assert.deepEqual(early, until);
  assert.ok([before, after].every(({ calls }, i) => early[i] + late[i] === calls), `${early}, ${late} of ${before.calls}, ${after.calls}`);
  await drag(page, ".strip", 0, 0.5);
  assert.equal(await page.locator("[data-span]").count(), 1);
});
