// format.mjs - moments have the unit of the axes and as many decimals as distinguish them, errors the unit of their figures
import assert from "node:assert/strict";
import { moduleOf } from "./module.mjs";

const { bytesText, estimateText, momentText, ticksText } = await moduleOf("text/format.ts");

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

// An error has the unit of its figure, unless it is much larger.
assert.equal(estimateText("bytes", 12_345_678, 812_000), "12.3 MB ± 0.8");
assert.equal(estimateText("bytes", 12_345_678, 8_000), "12.3 MB ± <0.1");
assert.equal(estimateText("bytes", 12_345_678, 0), "12.3 MB ± 0.0");
assert.equal(estimateText("bytes", 9_240, 16_400), "9,240 B ± 16.4 kB");
assert.equal(estimateText("bytes", 9_240, 1_200.5), "9,240 B ± 1,201");
assert.equal(estimateText("bytes", 53_300, 2_600_000), "53.3 kB ± 2.6 MB");
assert.equal(estimateText("bytes", -53_300, 2_600), "−53.3 kB ± 2.6");
assert.equal(estimateText("count", 1_234, 55.2), "1,234 ± 56");
assert.equal(estimateText("count", 0, 55), "0");
assert.equal(estimateText("bytes", 9_999_999, undefined), bytesText(9_999_999));
assert.deepEqual([0, 999, 9_999, 10_000, 999_949, 999_950, 1e18].map(bytesText), ["0", "999 B", "9,999 B", "10.0 kB", "999.9 kB", "1.0 MB", "1.0 EB"]);
