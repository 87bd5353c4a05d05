// node_names.ts - names and colours of the frames of a flame graph, independent of their cost
import { cachedFor } from "../data/cached";
import type { Squares } from "../data/errors";
import type { Recording } from "../data/recording";
import { labelsOf } from "../data/stack_words";
import { CUT } from "../data/tree";
import type { Cost, Span } from "../state";
import { estimateText, type Kind } from "../text/format";
import { cached } from "../text/names";
import { isBytes } from "../text/words";
import { HUE_COUNT, SHADES, tint, type Palette } from "../ui/palette";

/** The cost of each node of a tree: its own, and with all its callees. */
export interface Amounts {
  readonly self: Float64Array;
  readonly totals: Float64Array;
  /** of the errors; undefined: the amounts are exact */
  readonly squares: { readonly self: Squares; readonly totals: Squares };
}

export function kindOf(cost: Cost): Kind {
  return isBytes(cost) ? "bytes" : "count";
}

/** An amount, with its error if it is an estimate. */
export function costFigure(cost: Cost, amount: number, error?: number): string {
  return estimateText(kindOf(cost), amount, error);
}

export function amountsOf(recording: Recording, cost: Cost, span: Span | null): Amounts {
  const self = recording.self(recording.costs(cost, span));
  const rows = recording.squares(cost, span);
  const squares = rows && recording.self(rows);
  return { self, totals: recording.totals(self), squares: { self: squares, totals: squares && recording.totals(squares) } };
}

/** Modules by how much they allocate themselves or through others, the largest first. */
function modulesByWeight(recording: Recording): number[] {
  const { tree } = recording;
  const weight = new Map<number, number>();
  const totals = recording.totals(recording.self(recording.column("bytes")));
  tree.func.forEach((func, node) => {
    const module = tree.functions[func]?.module ?? -1;
    const caller = tree.functions[tree.func[tree.parent[node]!] ?? -1]?.module ?? -1;
    if (module >= 0 && module !== caller) weight.set(module, (weight.get(module) ?? 0) + totals[node]!);
  });
  return [...weight.keys()].sort((a, b) => weight.get(b)! - weight.get(a)! || a - b);
}

export class NodeNames {
  readonly #recording: Recording;
  readonly #colours: ReadonlyMap<number, number>; // by module: the largest have their own colour

  constructor(recording: Recording) {
    this.#recording = recording;
    this.#colours = new Map(modulesByWeight(recording).slice(0, HUE_COUNT).map((module, i) => [module, i]));
  }

  functionName(func: number): string {
    if (func === CUT) return "… stacks cut from this page";
    return this.#recording.tree.functions[func]?.name ?? "all";
  }

  /** The name, shortened for a box. */
  functionLabel(func: number): string {
    return func in this.#recording.tree.functions ? labelsOf(this.#recording).label(func) : this.functionName(func);
  }

  /** The text that distinguishes it from functions with the same label. */
  functionDistinction(func: number): string {
    return labelsOf(this.#recording).distinction(func);
  }

  functionColour(func: number): number {
    const module = this.#recording.tree.functions[func]?.module ?? -1;
    return this.#colours.get(module) ?? -1;
  }

  /** The colours of a graph's nodes: the module's hue, in a shade of the function's. */
  fill(palette: Palette, functionOf: (node: number) => number): (node: number) => string {
    const ofFunction = cached((func) => tint(this.functionColour(func), palette, Math.max(0, func) % SHADES));
    return (node) => ofFunction(functionOf(node));
  }

  functionModule(func: number): string {
    const module = this.#recording.tree.functions[func]?.module ?? -1;
    return module < 0 ? "" : this.#recording.moduleName(module);
  }

  /** The file of a function, or why it is unknown. */
  functionFile(func: number): string {
    const found = this.#recording.tree.functions[func];
    return found === undefined ? "" : found.file === "" ? found.reason : found.file;
  }

  name(node: number): string {
    return this.functionName(this.#recording.tree.func[node]!);
  }

  label(node: number): string {
    return this.functionLabel(this.#recording.tree.func[node]!);
  }

  distinction(node: number): string {
    return this.functionDistinction(this.#recording.tree.func[node]!);
  }

  colour(node: number): number {
    return this.functionColour(this.#recording.tree.func[node]!);
  }

  legend(): [string, number][] {
    return [...this.#colours].map(([module, colour]) => [this.#recording.moduleName(module), colour]);
  }

  where(node: number): string {
    const { tree } = this.#recording;
    const [func, line] = [tree.func[node]!, tree.line[node]!];
    const file = this.functionFile(func);
    const place = line > 0 ? `${file}:${line}` : line < 0 && file !== "" ? `${file}, several lines` : file;
    return [place, this.functionModule(func), tree.inlined[node] === 1 ? "inlined" : ""].filter((part) => part !== "").join(" · ");
  }
}

export const namesOf = cachedFor((recording: Recording) => new NodeNames(recording));
