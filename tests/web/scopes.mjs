// scopes.mjs - the scopes that a program marked: their figures are the report's; an instance has a detail and a place on the
// timeline, and turns every view to its time and thread; counters are curves; findings lead to their scope
import { assert, assertBytes, check, count, rows, scrollFrom, settled } from "./browser.mjs";

const fragment = (page) => page.evaluate(() => location.hash);
const paths = (report) => report.scopes.map((scope) => scope.path.join(" > "));

await check(async ({ page, report, open }) => {
  // The table has the figures of the report, with the scopes inside and without them.
  for (const part of ["all", "self"]) {
    await open(`#scopes?part=${part}`);
    const shown = await rows(page, "scopes");
    assert.deepEqual(shown.map(([path]) => path).sort(), paths(report).sort());
    for (const [path, instances, , , , calls, bytes, net, most, temporary, , live] of shown) {
      const scope = report.scopes[paths(report).indexOf(path)];
      const figures = part === "self" ? scope.self : scope;
      assert.equal(instances, count(scope.instances));
      assert.equal(calls, count(figures.allocation_calls));
      assertBytes(bytes, figures.allocated_bytes);
      assert.equal(net.startsWith("−"), figures.net_bytes < 0);
      assertBytes(net.slice(1), Math.abs(figures.net_bytes));
      assertBytes(most, scope.max_net_bytes);
      assert.equal(temporary, count(figures.temporary_calls));
      assertBytes(live, figures.live_bytes_at_end);
    }
  }

  // Search, sorting and the tree.
  await open("#scopes");
  await page.fill(".find input", "req*parse");
  await page.waitForFunction(() => document.querySelectorAll('[data-table="scopes"] tbody tr:not(.spacer)').length === 1);
  await open("#scopes?shape=tree");
  const tree = (await rows(page, "tree")).map(([name]) => name.replace(/[▾▸]/, ""));
  assert.deepEqual(tree.slice(0, 2), ["all scopes", "request"]);
  assert.equal(tree.length, report.scopes.length + 1);

  // A long name leaves room for the buttons.
  await open("#scopes");
  await page.locator('[data-table="scopes"] tbody tr', { hasText: "a_name_so_long" }).first().click();
  await page.locator('[data-table="instances"] tbody tr:not(.spacer)').first().click();
  const about = await page.locator(".scope-head").textContent();
  assert.ok(about.includes("its only instance does not allocate; 1 free"), about);
  const [panel, button] = await Promise.all([page.locator(".instance").boundingBox(), page.locator(".instance .buttons").boundingBox()]);
  assert.ok(button.x + button.width <= panel.x + panel.width, JSON.stringify([panel, button]));

  // An instance: its detail is that of `report --instances`.
  await open("#scopes");
  await page.locator('[data-table="scopes"] tbody tr', { hasText: "frame > step" }).first().click();
  await page.waitForSelector('[data-table="instances"]');
  await page.locator('[data-table="instances"] th button', { hasText: "Allocated" }).click();
  await page.locator('[data-table="instances"] tbody tr:not(.spacer)').first().click();
  const worst = report.scopes[paths(report).indexOf("frame > step")].worst[0];
  const facts = await page.locator(".instance .instance-facts").textContent();
  assert.ok(facts.includes(`instance ${count(worst.number)} of 100`), facts);
  assert.ok(facts.includes(`${count(worst.allocation_calls)} allocation`), facts);
  assert.ok(facts.includes("5,000 B +1"), facts);
  assert.ok(facts.includes(`total +${count(worst.total_bytes)} B`), facts);

  // It turns every view to its time and its thread.
  const before = await fragment(page);
  await page.click(".instance button:has-text('Show in every view')");
  const link = await settled(page, before);
  const [, from, to] = /from=(\d+)&to=(\d+)/.exec(link);
  assert.ok(from <= worst.begin_ns && to >= worst.begin_ns + worst.duration_ns, link);
  assert.match(link, /thread=\d/);
  assert.match(await page.textContent("[data-span]"), /^step, at /);
  await page.click('nav a[href="#sizes"]');
  assert.match(await page.textContent("[data-span]"), /^step, at /);
  await page.keyboard.press("x");
  assert.equal(await page.locator("[data-span]").count(), 0);

  // The lanes: a click chooses what is drawn there, a drag moves the times of all charts, and keys go to neighbours.
  const frame = report.scopes[paths(report).indexOf("frame")].worst[0];
  await open(`#timeline?window=${frame.begin_ns}-${frame.begin_ns + frame.duration_ns}`);
  const lanes = page.locator("[data-lanes] canvas");
  await lanes.scrollIntoViewIfNeeded();
  await page.waitForTimeout(300);
  const plot = await page.locator('.chart:has-text("Counters of the program") .u-over').boundingBox();
  const box = await lanes.boundingBox();
  const [x, y] = [plot.x + plot.width / 2, box.y + 22 + 9];
  await page.mouse.click(x, y);
  await page.waitForSelector(".instance");
  assert.equal(await page.textContent(".instance h2"), `frame ${frame.value}`);
  await page.mouse.move(x, y);
  await page.mouse.down();
  // To later times, unless the run ends there: the page moves no further.
  const part = frame.begin_ns + 2 * frame.duration_ns < report.duration_ns ? 0.25 : -0.25;
  await page.mouse.move(x - part * plot.width, y);
  await page.mouse.up();
  await page.waitForFunction((old) => (/window=(\d+)/.exec(location.hash)?.[1] ?? old) !== old, String(frame.begin_ns));
  const [, left, right] = /window=(\d+)-(\d+)/.exec(await fragment(page)).map(Number);
  assert.equal(right - left, frame.duration_ns);
  const wanted = frame.begin_ns + part * frame.duration_ns;
  assert.ok(Math.abs(left - wanted) < frame.duration_ns / 10, `${left}, not ${wanted}`);
  const drawing = () => lanes.evaluate((canvas) => canvas.toDataURL());
  await page.mouse.move(0, 0);
  const picture = await drawing();
  await scrollFrom(page, lanes);
  assert.ok((await drawing()) === picture, "scrolling with a finger moved the times");
  await page.locator("[data-lanes]").focus();
  await page.keyboard.press("ArrowDown");
  await page.waitForFunction(() => document.querySelector(".instance h2").textContent === "step");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("ArrowRight");
  await page.waitForFunction((old) => document.querySelector(".instance h2").textContent !== old, `frame ${frame.value}`);
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => !location.hash.includes("window="));

  // Keys alone: an arrow chooses the first instance; further ones go to other lanes; what is chosen stays visible.
  const chosen = (name) => page.locator(".instance h2", { hasText: new RegExp(`^${name}`) }).waitFor();
  await open("#timeline");
  await page.locator("[data-lanes]").focus();
  await page.keyboard.press("ArrowRight");
  await chosen("frame 1000");
  for (let i = 0; i < 12; i++) await page.keyboard.press("+");
  for (const name of ["step", "request", "parse"]) {
    await page.keyboard.press("ArrowDown");
    await chosen(name);
  }
  await page.waitForFunction(() => {
    const [begin, length] = [...document.querySelector(".instance").textContent.matchAll(/([\d.]+) ([mµ])s/g)].map(
      ([, number, unit]) => Number(number) * (unit === "m" ? 1e6 : 1e3),
    );
    const [, from, to] = (/window=(\d+)-(\d+)/.exec(location.hash) ?? []).map(Number);
    return from - 1000 <= begin + length && begin <= to + 1000;
  });
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("ArrowUp");
  await chosen("frame");

  // Counters are curves with their range.
  const legend = await page.locator('.chart:has-text("Counters of the program") .legend').textContent();
  assert.ok(legend.includes("queue (-10 to 39)"), legend);
  assert.ok(legend.includes("limit (40)"), legend);

  // They have the times at which they were set, also for a thread, whose live bytes are known at few times.
  const { points } = report.counters.find(({ name }) => name === "queue");
  for (let at = 20; at < 26; at++) {
    const [set, next] = [points[at], points[at + 1]];
    await open(`#timeline?thread=1&window=${set.time_ns}-${next.time_ns}`);
    const over = await page.locator('.chart:has-text("Counters of the program") .u-over').boundingBox();
    await page.mouse.move(over.x + over.width * 0.1, over.y + over.height / 2);
    const queue = page.locator('.chart:has-text("Counters of the program") .legend li', { hasText: "queue" });
    await page.waitForFunction((li) => li.querySelector(".figure").textContent !== "", await queue.elementHandle());
    assert.equal(await queue.locator(".figure").textContent(), count(set.value));
  }

  // A finding about a scope shows it there.
  await open("#overview");
  const warmUp = report.findings.findIndex((finding) => finding.kind === "warm_up");
  await page.locator(".findings a").nth(warmUp).click();
  await page.waitForFunction(() => location.hash.startsWith("#scopes"));
  const row = page.locator('[data-table="scopes"] tr.chosen .name');
  assert.equal(await row.textContent(), report.findings[warmUp].path.join(" > "));
});
