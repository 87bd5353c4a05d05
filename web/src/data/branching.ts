// branching.ts - trees as columns, and a tree of functions that grows: a function below a node is there once
import { keptFor } from "./kept";

// A document has far fewer. Numbers, and not texts, are keys: they are asked for by every frame of every stack.
const FUNCTIONS_MAX = 2 ** 22;

/** A tree as columns: nodes are numbered, parents before their children; node 0 is the root. */
export interface Branches {
  readonly parent: Int32Array;
}

/** The children of each node, in their order. */
export const childrenOf = keptFor(({ parent }: Branches): number[][] => {
  const children: number[][] = Array.from(parent, () => []);
  for (let node = 1; node < parent.length; node++) children[parent[node]!]!.push(node);
  return children;
});

export class Branching {
  readonly parent: number[] = [-1];
  readonly func: number[];
  readonly #children = new Map<number, number>(); // by parent and function

  constructor(func: number) {
    this.func = [func];
  }

  /** The node of a function below a node; functions that are none (-1 and less) are as many more. */
  child(parent: number, func: number): number {
    const key = (parent + 1) * FUNCTIONS_MAX + func;
    let node = this.#children.get(key);
    if (node === undefined) {
      this.#children.set(key, (node = this.parent.length));
      this.parent.push(parent);
      this.func.push(func);
    }
    return node;
  }
}
