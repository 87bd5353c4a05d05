// views.mjs - durations and instances of scopes move in the page of a running program, and a chosen instance stays chosen
//
// node views.mjs ADDRESS   The test that runs it does what each line of stdout says, and answers "done".
import { assert, followed, tell } from "./browser.mjs";

await followed(async (page) => {
  const rows = (table) => page.locator(`[data-table="${table}"] tbody tr:not(.spacer)`);
  const freed = (count) => rows("scopes").filter({ hasText: "task > free", has: page.locator("td", { hasText: new RegExp(`^${count}$`) }) });
  await tell("round");
  await page.getByRole("link", { name: "Scopes" }).click();
  await freed(100).click();
  await rows("instances").nth(7).click();

  // The instances of the first thread come before it, and become more.
  const chosen = async () => (await page.locator(".with-detail dl").textContent()).match(/task > free.*instance \d+ of|0 allocations, 1 free.*/g);
  const before = await chosen();
  assert.equal(before.length, 2);
  await tell("round");
  await freed(200).waitFor();
  assert.deepEqual(await chosen(), before);

  await page.getByRole("link", { name: "Durations" }).click();
  await page.getByText("How long 601 calls took").waitFor();
  await tell("round");
  await page.getByText("How long 901 calls took").waitFor();
});
