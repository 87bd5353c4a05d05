// format.mjs - moments have the unit of the axes, and as many decimals as distinguish them
import assert from "node:assert/strict";
import { moduleOf } from "./module.mjs";

const { momentText, ticksText } = await moduleOf("text/format.ts");

/** Of a run of this length. */
const moment = (ns, runNs) => momentText(ns, runNs / 1000);

assert.equal(moment(131_067_000, 132_200_000), "131.1 ms");
assert.equal(moment(392_885, 132_200_000), "0.4 ms");
assert.equal(moment(2_489_912_345, 5_000_000_000), "2.490 s");
assert.equal(moment(500_000_000, 5_000_000_000), "0.500 s");
assert.equal(moment(392_885, 500_000), "392.9 µs");
assert.equal(momentText(676_089, 1), "676.089 µs");
assert.equal(momentText(17_752_345, 1e3), "17.752 ms");
for (const runNs of [0.5e6, 1.5e9, 15e9]) {
  const [axis] = ticksText([runNs]);
  assert.equal(moment(runNs, runNs).split(" ")[1], axis.split(" ")[1], axis);
}
