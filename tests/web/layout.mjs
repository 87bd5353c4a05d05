// layout.mjs - the children of a frame have places, even if those of the frame before were never requested
import assert from "node:assert/strict";
import { moduleOf } from "./module.mjs";

const { Layout } = await moduleOf("flame/layout.ts");

const layout = new Layout({ parent: Int32Array.of(-1, 0, 1, 2, 2) });
const totals = Float64Array.of(4, 4, 2, 1, 1);
layout.resize(totals, totals);
const places = () => layout.children(layout.box(2)).map(({ x0, x1 }) => [x0, x1]);
const halves = [[0, 0.25], [0.25, 0.5]];
assert.deepEqual(places(), halves);
layout.resize(Float64Array.of(8, 4, 2, 1, 1), totals);
assert.deepEqual(places(), halves.map((place) => place.map((x) => x / 2)));
