// lanes.mjs - what a lane shows of many instances: each pixel once, whatever is inside it, and every wide instance by itself
import assert from "node:assert/strict";
import { moduleOf } from "./module.mjs";

const { Rows } = await moduleOf("lanes/layout.ts");
const { moved, movedTo, zoomed } = await moduleOf("lanes/window.ts");

/** Instances of one lane: [begin, end, level, calls]. */
function rowsOf(list) {
  const columns = {
    begin_ns: Float64Array.from(list, ([begin]) => begin),
    end_ns: Float64Array.from(list, ([, end]) => end),
    allocation_calls: Float64Array.from(list, ([, , , calls]) => calls),
    free_calls: new Float64Array(list.length),
  };
  const levels = Math.max(...list.map(([, , level]) => level)) + 1;
  return new Rows({
    count: list.length,
    levels: Uint16Array.from(list, ([, , level]) => level),
    lanes: [{ first: 0, end: list.length, levels, count: list.length }],
    column: (key) => columns[key],
  });
}

function shown(rows, level, window, width) {
  const pieces = [];
  rows.visit(rows.rows[level], window, width, (piece) => pieces.push(piece));
  return pieces;
}

// A wide instance with two inside, of which one has calls; then one that is outside of what is shown.
const few = rowsOf([[0, 100, 0, 1], [10, 40, 1, 0], [50, 90, 1, 1], [200, 300, 0, 0]]);
const window = { fromNs: 0, toNs: 100 };
assert.deepEqual(shown(few, 0, window, 100), [{ left: 0, right: 100, instance: 0, count: 1, hasCalls: true }]);
assert.deepEqual(shown(few, 1, window, 100).map(({ instance, left, hasCalls }) => [instance, left, hasCalls]), [[1, 10, false], [2, 50, true]]);
assert.equal(few.at(few.rows[1], 60, 0), 2);
assert.equal(few.at(few.rows[1], 45, 0), -1);
assert.equal(few.at(few.rows[1], 45, 6), 2); // the longer of two that are near
assert.equal(few.neighbour(0, 1), 3);
assert.equal(few.neighbour(3, 1), -1);
assert.deepEqual([0, 99, 100, 250, 400].map((ns) => few.outermostAfter(few.rows[0].lane, ns)), [0, 0, 3, 3, 3]);

// Many instances of 1 ns, each 10 ns; one of them has calls, and one is long.
const MANY = 100_000;
const CALLS = 40_005;
const LONG = 70_007;
const many = rowsOf(Array.from({ length: MANY }, (_, i) => [i * 10, i * 10 + (i === LONG ? 9 : 1), 0, Number(i === CALLS)]));
const all = shown(many, 0, { fromNs: 0, toNs: MANY * 10 }, 1000);
assert.ok(all.length <= 1000);
assert.equal(all.reduce((sum, { count }) => sum + count, 0), MANY);
all.forEach((piece, i) => assert.ok(piece.right > piece.left && (i === 0 || piece.left >= all[i - 1].right - 1)));
assert.deepEqual(all.filter(({ hasCalls }) => hasCalls).map(({ instance, count }) => instance <= CALLS && CALLS < instance + count), [true]);
const near = shown(many, 0, { fromNs: LONG * 10 - 50, toNs: LONG * 10 + 50 }, 20);
assert.ok(near.some(({ instance, count, left, right }) => instance === LONG && count === 1 && right - left > 1.5), JSON.stringify(near));

// The shown part stays within the run, and the time at the pointer stays where it is.
const run = { fromNs: 0, toNs: 1_000_000 };
assert.deepEqual(zoomed(run, run, 2, 0.25), { fromNs: 125_000, toNs: 625_000 });
assert.equal(zoomed({ fromNs: 0, toNs: 600_000 }, run, 0.5, 0.5), null);
assert.deepEqual(moved({ fromNs: 800_000, toNs: 900_000 }, run, 5), { fromNs: 900_000, toNs: 1_000_000 });
assert.deepEqual(movedTo({ fromNs: 800_000, toNs: 900_000 }, run, 500_000), { fromNs: 450_000, toNs: 550_000 });
assert.deepEqual(movedTo({ fromNs: 800_000, toNs: 900_000 }, run, 10_000), { fromNs: 0, toNs: 100_000 });
assert.deepEqual(moved({ fromNs: 50_000, toNs: 150_000 }, run, -1), { fromNs: 0, toNs: 100_000 });
