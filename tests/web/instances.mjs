// instances.mjs - which instance is inside which: also of those that take no time, and of tasks, whose figures are their own
import assert from "node:assert/strict";
import { moduleOf } from "./module.mjs";

const { instancesOf } = await moduleOf("data/instances.ts");
const { scopeFiguresOf } = await moduleOf("data/scope_figures.ts");

/** Base64 of numbers below 128. */
const packed = (numbers) => Buffer.from(numbers).toString("base64");

// The paths: request, request > parse, request > store, task.
const [REQUEST, PARSE, STORE, TASK] = [0, 1, 2, 3];
const scopes = { count: 4, recorded: 4, name: ["request", "parse", "store", "task"], outer: [-1, REQUEST, REQUEST, -1] };

/** Instances of one lane: [begin, duration, scope, calls]. */
function documentOf(list) {
  const column = (of) => packed(list.map(of));
  const calls = packed(list.filter(([, , , count]) => count > 0).map(() => 0));
  return {
    scopes,
    instances: {
      count: list.length,
      recorded: list.length,
      lanes: [{ name: "main", tid: 1, thread: 0, count: list.length }],
      texts: [],
      begin_ns: column(([begin], i) => begin - (i > 0 ? list[i - 1][0] : 0)),
      duration_ns: column(([, duration]) => duration),
      scope: column(([, , scope]) => scope),
      allocation_calls: column(([, , , count]) => count),
      free_calls: column(() => 0),
      sequence: column(() => 1),
      number: column(() => 0),
      allocated_bytes: calls,
      net_bytes: calls,
      max_net_bytes: calls,
      inside_bytes: calls,
      sizes: calls,
    },
  };
}

const outers = (document) => Array.from(instancesOf(document).column("scope"), (_, i) => instancesOf(document).outerOf(i));

// `store` takes no time: it begins where `parse` ends, and is next to it, also at the end of `request`.
const short = documentOf([[10, 20, REQUEST, 2], [10, 10, PARSE, 1], [20, 0, STORE, 1], [30, 0, PARSE, 0], [30, 0, STORE, 0], [30, 0, REQUEST, 0], [30, 0, STORE, 0]]);
assert.deepEqual(outers(short), [-1, 0, 0, 0, 0, -1, 5]);
assert.deepEqual(Array.from(instancesOf(short).lanes, ({ levels }) => levels), [2]);
assert.equal(instancesOf(short).innerOf(0), 1);
assert.equal(instancesOf(short).innerOf(1), -1);
const self = (document) => Array.from(scopeFiguresOf({ document }, "self", { fromNs: 0, toNs: 100 }).allocation_calls);
assert.deepEqual(self(short), [0, 1, 1, 0]);

// A task is drawn inside the scope that its thread is in, but what it allocates is its own.
const task = documentOf([[10, 20, REQUEST, 1], [12, 5, TASK, 3], [20, 5, PARSE, 1]]);
assert.deepEqual(outers(task), [-1, 0, 0]);
assert.deepEqual(self(task), [0, 1, 0, 3]);
