// branching.ts - a tree of functions that grows: a function below a node is there once

const FUNCTIONS_MAX = 2 ** 22; // a document has far fewer; numbers, and not texts, as keys: they are asked for by every frame of every stack

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
