// sandwich.ts - one function with all its callers above and all its callees below, from all its occurrences in the tree
//
// An occurrence of the function inside another one (recursion) is a part of the outer one, so that nothing counts twice.
import { Branching, childrenOf } from "./branching";
import { cachedFor } from "./cached";
import { CUT, type Tree } from "./tree";

/** Paths to or from the function, merged by function. Node 0 is the function itself. */
export interface Merged {
  readonly parent: Int32Array;
  readonly func: Int32Array;
  /** the merged node of each node of the tree; -1: none */
  readonly of: Int32Array;
}

class Merger extends Branching {
  readonly of: Int32Array;

  constructor(middle: number, nodes: number) {
    super(middle);
    this.of = new Int32Array(nodes).fill(-1);
  }

  finish(): Merged {
    return { parent: Int32Array.from(this.parent), func: Int32Array.from(this.func), of: this.of };
  }
}

/** For each node, whether no frame of the same function is further out. */
export const outermost = cachedFor((tree: Pick<Tree, "parent" | "func">): Uint8Array => {
  const [children, outer] = [childrenOf(tree), new Uint8Array(tree.func.length)];
  const around = new Int32Array(tree.func.reduce((most, func) => Math.max(most, func), 0) - CUT + 1); // by function, from CUT on
  const left = [0];
  for (let node = left.pop(); node !== undefined; node = left.pop()) {
    const place = tree.func[node < 0 ? ~node : node]! - CUT;
    if (node < 0) {
      around[place]!--; // all its callees were visited
      continue;
    }
    outer[node] = Number(around[place]!++ === 0);
    left.push(~node);
    for (const child of children[node]!) left.push(child);
  }
  return outer;
});

export function calleesOf({ parent, func }: Pick<Tree, "parent" | "func">, outer: Uint8Array, middle: number): Merged {
  const merger = new Merger(middle, parent.length);
  for (let node = 1; node < parent.length; node++) {
    const above = merger.of[parent[node]!]!;
    if (above >= 0) merger.of[node] = merger.child(above, func[node]!);
    else if (func[node] === middle && outer[node] === 1) merger.of[node] = 0;
  }
  return merger.finish();
}

export function callersOf({ parent, func }: Pick<Tree, "parent" | "func">, outer: Uint8Array, middle: number): Merged {
  const merger = new Merger(middle, parent.length);
  for (let node = 1; node < parent.length; node++) {
    if (func[node] !== middle || outer[node] === 0) continue;
    let way = 0;
    for (let up = parent[node]!; up > 0; up = parent[up]!) way = merger.child(way, func[up]!);
    merger.of[node] = way;
  }
  return merger.finish();
}

/** The amounts of the tree's nodes, summed where they were merged. */
export function mergedAmounts(merged: Merged, amounts: Float64Array): Float64Array {
  const sums = new Float64Array(merged.parent.length);
  merged.of.forEach((to, node) => {
    if (to >= 0) sums[to]! += amounts[node]!;
  });
  return sums;
}

export interface FunctionAmounts {
  readonly self: Float64Array;
  readonly total: Float64Array;
}

/** The own amount and the total of each function; recursion counts once. */
export function functionAmounts(
  tree: Pick<Tree, "func"> & { readonly functions: ArrayLike<unknown> },
  outer: Uint8Array,
  self: Float64Array,
  totals: Float64Array,
): FunctionAmounts {
  const sums = { self: new Float64Array(tree.functions.length), total: new Float64Array(tree.functions.length) };
  tree.func.forEach((func, node) => {
    if (func < 0) return;
    sums.self[func]! += self[node]!;
    if (outer[node] === 1) sums.total[func]! += totals[node]!;
  });
  return sums;
}
