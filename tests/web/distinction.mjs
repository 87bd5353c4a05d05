// distinction.mjs - functions whose short names are equal are distinguished by a part of their names, their file or their
// module; each name is read a few times, however many are equal and however often they are drawn
import assert from "node:assert/strict";
import { moduleOf } from "./module.mjs";

const { Labels } = await moduleOf("data/labels.ts");

const distinction = (functions) => {
  const labels = new Labels(functions, (func) => `module ${func}`);
  return functions.map((_function, func) => labels.distinction(func));
};
const named = (...names) => names.map((name) => ({ name, file: "" }));
assert.deepEqual(distinction(named("f<int, A>()", "f<long, A>()", "g()")), ["int", "long", ""]);
assert.deepEqual(distinction(named("f<int>(A)", "f<int>(B)", "f<long>(A)")), ["int>(A", "int>(B", "long>(A"]);
assert.deepEqual(distinction(["a/x.c", "a/y.c"].map((file) => ({ name: "f", file }))), ["x.c", "y.c"]);
assert.deepEqual(distinction(["a/x.c", "a/x.c"].map((file) => ({ name: "f", file }))), ["module 0", "module 1"]);
assert.deepEqual(distinction([...named("f<int>"), ...named("f<int>", "f<long>")]), ["int · module 0", "int · module 1", "long"]);

const TWINS = 300;
let reads = 0;
const twins = Array.from({ length: TWINS }, (_twin, i) => ({
  file: "",
  get name() {
    reads++;
    return `fill<${"x".repeat(300)}, ${1000 + i}, ${"y".repeat(300)}>`;
  },
}));
const labels = new Labels(twins, () => "");
for (let render = 0; render < 5; render++) assert.equal(new Set(twins.map((_twin, func) => labels.distinction(func))).size, TWINS);
assert.ok(reads <= 10 * TWINS, `${reads} reads`);
