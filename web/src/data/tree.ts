// tree.ts - the call tree for the flame graph, made from the document's nodes and sites
//
// function   code with one name in one module or, without a name, at one start address in its module.
// node       a function below its caller. The document's nodes are places in code: a place with inlined functions
//            becomes several nodes here, and places in the same function below one caller become one. Node 0 is the
//            whole run.
// cut        a node for all stacks whose deeper frames the document leaves out.
import type { PageDocument } from "./document";
import { unpack } from "./packed";

export interface CodeFunction {
  readonly name: string;
  readonly module: number; // -1: none
  readonly file: string;
  /** why there is no name or no line; "": both are known */
  readonly reason: string;
  /** for a difference: the ID shared by both runs; else 0 */
  readonly identity: number;
}

/** A frame of a stack, for a list. */
export interface Place {
  readonly name: string;
  readonly file: string;
  readonly line: number; // 0: not known
  readonly module: string;
  readonly inlined: boolean;
  readonly reason: string;
  /** address in its module's file */
  readonly address: number;
}

export interface Tree {
  readonly parent: Int32Array; // -1 of the root; parents come first
  readonly func: Int32Array; // -1: the root, CUT: stacks that are cut
  readonly line: Int32Array; // 0: not known, -1: several
  readonly inlined: Uint8Array;
  readonly functions: readonly CodeFunction[];
  /** the node of each row of `stacks` */
  readonly nodeOfRow: Int32Array;
}

export const CUT = -2;

export function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** Resolves the document's numbers for places in the code. */
export class Places {
  readonly #document: PageDocument;

  constructor(document: PageDocument) {
    this.#document = document;
  }

  text(index: number): string {
    return this.#document.strings[index] ?? "";
  }

  modulePath(module: number): string {
    return this.text(this.#document.modules.path[module] ?? -1);
  }

  /** The name of a module: for a program the name it was run as, for others the file name. */
  moduleName(module: number): string {
    return this.text(this.#document.modules.name[module] ?? -1);
  }

  lastFrame(site: number): number {
    const { sites, frames } = this.#document;
    return (sites.frame[site + 1] ?? frames.function.length) - 1;
  }

  #leftOut(site: number): string {
    const count = this.#document.sites.address[site]!;
    return count > 0 ? `… ${count} frames left out by the recorder` : "… frames that are not known";
  }

  #start(site: number): number {
    const start = this.#document.sites.function_start?.[site] ?? -1;
    return start >= 0 ? start : this.#document.sites.address[site]!;
  }

  name(site: number, frame: number): string {
    const { sites, frames } = this.#document;
    if (sites.kind[site] === 1) return this.#leftOut(site);
    const name = this.text(frames.function[frame]!);
    if (name !== "") return name;
    return `?? ${this.moduleName(sites.module[site]!)}+0x${this.#start(site).toString(16)}`;
  }

  /** The key of a frame's function: equal for frames of the same function. */
  key(site: number, frame: number): string {
    const { sites, frames } = this.#document;
    const name = frames.function[frame]!;
    if (sites.kind[site] === 1) return `left out ${sites.address[site]}`;
    return name >= 0 ? `${sites.module[site]} ${name}` : `${sites.module[site]} at ${this.#start(site)}`;
  }

  function(site: number, frame: number): CodeFunction {
    const { sites, frames } = this.#document;
    return {
      name: this.name(site, frame),
      module: sites.kind[site] === 1 ? -1 : sites.module[site]!,
      file: this.text(frames.file[frame]!),
      reason: this.text(frames.reason[frame]!),
      identity: frames.identity?.[frame] ?? 0,
    };
  }

  place(site: number, frame: number): Place {
    const { sites, frames } = this.#document;
    return {
      name: this.name(site, frame),
      file: this.text(frames.file[frame]!),
      line: frames.line[frame]!,
      module: this.moduleName(sites.module[site]!),
      inlined: frame !== this.lastFrame(site),
      reason: this.text(frames.reason[frame]!),
      address: sites.address[site]!,
    };
  }
}

class TreeBuilder {
  readonly parent = [-1];
  readonly func = [-1];
  readonly line = [0];
  readonly inlined = [0];
  readonly functions: CodeFunction[] = [];
  readonly #places: Places;
  readonly #document: PageDocument;
  readonly #numbers = new Map<string, number>(); // of functions, by key
  readonly #ofFrame: Int32Array; // by frame of the document; -1: not computed yet
  readonly #children = new Map<number, number>(); // by parent and function

  constructor(document: PageDocument) {
    this.#document = document;
    this.#ofFrame = new Int32Array(document.frames.function.length).fill(-1);
    this.#places = new Places(document);
  }

  #functionOf(site: number, frame: number): number {
    const known = this.#ofFrame[frame]!;
    return known >= 0 ? known : (this.#ofFrame[frame] = this.#numberOf(site, frame));
  }

  #numberOf(site: number, frame: number): number {
    const key = this.#places.key(site, frame);
    let number = this.#numbers.get(key);
    if (number === undefined) {
      this.#numbers.set(key, (number = this.functions.length));
      this.functions.push(this.#places.function(site, frame));
    }
    return number;
  }

  child(parent: number, func: number, line: number, inlined: boolean): number {
    const key = parent * (this.#ofFrame.length + 1) + (func === CUT ? this.#ofFrame.length : func);
    const known = this.#children.get(key);
    if (known !== undefined) {
      if (this.line[known] !== line) this.line[known] = -1;
      return known;
    }
    const node = this.parent.length;
    this.#children.set(key, node);
    this.parent.push(parent);
    this.func.push(func);
    this.line.push(line);
    this.inlined.push(Number(inlined));
    return node;
  }

  /** The frames of a site below a node: the site's last frame is the outermost. */
  below(parent: number, site: number): number {
    let node = parent;
    const last = this.#places.lastFrame(site);
    for (let frame = last; frame >= this.#document.sites.frame[site]!; frame--)
      node = this.child(node, this.#functionOf(site, frame), this.#document.frames.line[frame]!, frame !== last);
    return node;
  }
}

export function treeOf(document: PageDocument): Tree {
  const builder = new TreeBuilder(document);
  const parents = unpack(document.nodes.parent);
  const sites = unpack(document.nodes.site);
  const innermost = new Int32Array(parents.length);
  parents.forEach((up, node) => {
    innermost[node] = builder.below(up === 0 ? 0 : innermost[node - up]!, sites[node]!);
  });
  const cut = unpack(document.stacks.cut);
  const nodeOfRow = Int32Array.from(unpack(document.stacks.node), (node, row) => {
    const own = node === 0 ? 0 : innermost[node - 1]!;
    return cut[row] === 0 ? own : builder.child(own, CUT, 0, false);
  });
  return {
    parent: Int32Array.from(builder.parent),
    func: Int32Array.from(builder.func),
    line: Int32Array.from(builder.line),
    inlined: Uint8Array.from(builder.inlined),
    functions: builder.functions,
    nodeOfRow,
  };
}

/** Totals from own amounts: each node's own and those of all nodes below. */
export function totalsOf(parent: Int32Array, self: Float64Array): Float64Array {
  const totals = self.slice();
  for (let node = parent.length - 1; node > 0; node--) totals[parent[node]!]! += totals[node]!;
  return totals;
}
