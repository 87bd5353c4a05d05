// scopes.ts - the paths of scopes that the program marked, with their figures
//
// path       a scope and the scopes around it. Those around it have smaller rows.
// part       "all": with the scopes inside the path, "self": without them.
import type { ScopePart } from "../state";
import type { Branches } from "./branching";
import { cachedFor } from "./cached";
import type { PageDocument, ScopeFields, ScopeFigure, ScopeSum } from "./document";
import { unpack, unzigzag } from "./packed";

const SIGNED = ["net_bytes", "net_blocks", "self_net_bytes", "self_net_blocks"];
const BETWEEN = " > ";

export class Scopes {
  readonly count: number;
  /** of the run, also those without a row */
  readonly recorded: number;
  readonly names: readonly string[];
  readonly outer: readonly number[];
  /** "frame > decode" */
  readonly paths: readonly string[];
  /** node 0 is all of them, node n the path n - 1 */
  readonly tree: Branches;
  readonly #fields: ScopeFields;
  readonly #columns = new Map<ScopeFigure, Float64Array>();

  constructor(fields: ScopeFields) {
    this.#fields = fields;
    this.count = fields.count;
    this.recorded = fields.recorded;
    this.names = fields.name;
    this.outer = fields.outer;
    const paths: string[] = [];
    fields.name.forEach((name, row) => {
      const outer = fields.outer[row]!;
      paths.push(outer < 0 ? name : `${paths[outer]!}${BETWEEN}${name}`);
    });
    this.paths = paths;
    this.tree = { parent: Int32Array.from([-1, ...fields.outer.map((outer) => outer + 1)]) };
  }

  column(figure: ScopeFigure): Float64Array {
    let column = this.#columns.get(figure);
    if (column === undefined) {
      column = unpack(this.#fields[figure]);
      if (SIGNED.includes(figure)) column = column.map(unzigzag);
      this.#columns.set(figure, column);
    }
    return column;
  }

  sum(figure: ScopeSum, part: ScopePart): Float64Array {
    return this.column(part === "self" ? `self_${figure}` : figure);
  }

  /** Whether a path is inside another one. */
  isInside(row: number, around: number): boolean {
    let outer = this.outer[row]!;
    while (outer > around) outer = this.outer[outer]!; // those around have smaller rows
    return outer === around;
  }

  /** The row of a path, given by its names; -1: it has none. */
  rowOf(names: readonly string[]): number {
    let row = -1;
    for (const name of names) {
      const outer = row;
      row = this.names.findIndex((own, i) => own === name && this.outer[i] === outer);
      if (row < 0) return -1;
    }
    return row;
  }
}

const scopesIn = cachedFor((fields: ScopeFields) => new Scopes(fields));

/** null: the program marked no scopes. */
export function scopesOf({ scopes }: PageDocument): Scopes | null {
  return scopes === undefined ? null : scopesIn(scopes);
}
