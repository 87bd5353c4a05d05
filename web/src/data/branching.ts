// branching.ts - trees as columns, and a growing tree of functions in which each function occurs once below a node
import { cachedFor } from "./cached";

// A document has far fewer. Keys are numbers, not texts, since every frame of every stack is looked up.
const FUNCTIONS_MAX = 2 ** 22;

/** A tree as columns: nodes are numbered, parents before their children; node 0 is the root. */
export interface Branches {
  readonly parent: Int32Array;
}

/** The children of each node, in their order. */
export const childrenOf = cachedFor(({ parent }: Branches): number[][] => {
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

  /** The node of a function below a node; negative numbers that are not functions have nodes, too. */
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
