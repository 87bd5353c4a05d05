// lag.mjs - the page of a running program in a real Chromium says how old its figures are, if they are
//
// node lag.mjs ADDRESS
import { createRequire } from "node:module";

const fromWeb = createRequire(new URL("../../web/package.json", import.meta.url));
const { chromium } = fromWeb("playwright-core");
const browser = await chromium.launch({ executablePath: process.env.HW_CHROMIUM, args: ["--no-sandbox"] });
try {
  const page = await browser.newPage();
  let behind = "200";
  await page.route("**/document?*", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, headers: { ...response.headers(), "heapwright-behind-ms": behind } });
  });
  await page.goto(process.argv[2]);
  await page.getByRole("status").getByText("live", { exact: true }).waitFor();
  behind = "3200";
  await page.getByRole("status").getByText("live, 3 s behind", { exact: true }).waitFor();
  behind = "200";
  await page.getByRole("status").getByText("live", { exact: true }).waitFor();
} finally {
  await browser.close();
}
