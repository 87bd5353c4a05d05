// instances.ts - the instances of scopes: up to a million of them, as columns
//
// instance   one stretch of a thread's time in a path of scopes. Those of one thread nest.
// lane       a thread with instances; its instances have consecutive numbers, in the order of their begins.
// level      how many instances are around one.
import { cachedFor, finish } from "./cached";
import type { InstanceFields, LaneFields, PageDocument } from "./document";
import { unpack, unzigzag } from "./packed";
import { scopesOf, type Scopes } from "./scopes";

/** Of instances with calls only. */
const FIGURES = ["allocated_bytes", "net_bytes", "max_net_bytes", "inside_bytes"] as const;
const SIGNED: readonly string[] = ["net_bytes", "inside_bytes"];

/** What an instance did by block size, without the instances inside it. */
export interface Sizes {
  readonly sizes: readonly (readonly [size: number, blocks: number])[];
  /** it used further sizes, which are not listed */
  readonly hasOthers: boolean;
}

export interface Lane extends LaneFields {
  readonly first: number;
  readonly end: number;
  /** the number of levels */
  readonly levels: number;
}

export type Column = "begin_ns" | "end_ns" | "duration_ns" | "scope" | "sequence" | "allocation_calls" | "free_calls" | (typeof FIGURES)[number];

export class Instances {
  readonly count: number;
  readonly recorded: number;
  /** the level of each; filled by `prepared` */
  levels = new Uint16Array(0);
  readonly #fields: InstanceFields;
  readonly #scopes: Scopes;
  readonly #columns = new Map<Column, Float64Array>();
  readonly #texts: ReadonlyMap<number, string>;
  #lanes: Lane[] = [];
  #numbers: Float64Array = new Float64Array(0); // NaN: none
  #firstSize: Float64Array = new Float64Array(0); // where its sizes begin; -1: it has no calls
  #sizes: Float64Array = new Float64Array(0);
  #isReady = false;

  constructor(fields: InstanceFields, scopes: Scopes) {
    this.#fields = fields;
    this.#scopes = scopes;
    this.count = fields.count;
    this.recorded = fields.recorded;
    this.#texts = new Map(fields.texts.map(({ instance, text }) => [instance, text]));
  }

  /** Reads the columns in pieces, of which none takes long. Without them, a column is empty. */
  *prepared(): Generator<void> {
    if (this.#isReady) return;
    for (const key of ["duration_ns", "scope", "allocation_calls", "free_calls"] as const) {
      this.#columns.set(key, unpack(this.#fields[key]));
      yield;
    }
    this.#readTimes();
    yield;
    this.#readNumbers();
    yield;
    for (const key of FIGURES) {
      this.#columns.set(key, this.#spread(unpack(this.#fields[key]), SIGNED.includes(key)));
      yield;
    }
    this.#readSizes();
    yield;
    this.#findLevels();
    this.#isReady = true;
  }

  column(key: Column): Float64Array {
    if (!this.#isReady) finish(this.prepared());
    return this.#columns.get(key)!;
  }

  get lanes(): readonly Lane[] {
    if (!this.#isReady) finish(this.prepared());
    return this.#lanes;
  }

  laneOf(instance: number): Lane | undefined {
    return this.lanes.find(({ first, end }) => first <= instance && instance < end);
  }

  /** The number that the program gave it; NaN: none. */
  numberOf(instance: number): number {
    return this.#numbers[instance]!;
  }

  /** The text that the program gave it; undefined: none, or it is not stored. */
  textOf(instance: number): string | undefined {
    return this.#texts.get(instance);
  }

  sizesOf(instance: number): Sizes {
    const first = this.#firstSize[instance]!;
    if (first < 0) return { sizes: [], hasOthers: false };
    const head = this.#sizes[first]!;
    const sizes = Array.from({ length: Math.floor(head / 2) }, (_, i): [number, number] => [
      this.#sizes[first + 1 + 2 * i]!,
      unzigzag(this.#sizes[first + 2 + 2 * i]!),
    ]);
    return { sizes, hasOthers: head % 2 === 1 };
  }

  /** The instance around one; -1: none. */
  outerOf(instance: number): number {
    const level = this.levels[instance]!;
    if (level === 0) return -1;
    let outer = instance - 1;
    while (this.levels[outer]! >= level) outer--;
    return outer;
  }

  /** The first instance inside one; -1: none. */
  innerOf(instance: number): number {
    return this.levels[instance + 1] === this.levels[instance]! + 1 ? instance + 1 : -1;
  }

  #hasCalls(instance: number): boolean {
    return this.#columns.get("allocation_calls")![instance]! + this.#columns.get("free_calls")![instance]! > 0;
  }

  /** A column of the instances with calls, with 0 for the others. */
  #spread(packed: Float64Array, isSigned: boolean): Float64Array {
    const column = new Float64Array(this.count);
    for (let i = 0, at = 0; i < this.count; i++) if (this.#hasCalls(i)) column[i] = isSigned ? unzigzag(packed[at++]!) : packed[at++]!;
    return column;
  }

  #readTimes(): void {
    const [begins, durations] = [unpack(this.#fields.begin_ns), this.#columns.get("duration_ns")!];
    const ends = new Float64Array(this.count);
    let first = 0;
    for (const { count } of this.#fields.lanes) {
      for (let i = first; i < first + count; i++) {
        if (i > first) begins[i]! += begins[i - 1]!;
        ends[i] = begins[i]! + durations[i]!;
      }
      first += count;
    }
    this.#columns.set("begin_ns", begins);
    this.#columns.set("end_ns", ends);
  }

  #readNumbers(): void {
    const scopes = this.#columns.get("scope")!;
    const [sequences, numbers] = [unpack(this.#fields.sequence), unpack(this.#fields.number)];
    const lastSequence: number[] = [];
    const lastNumber: number[] = [];
    for (let i = 0; i < this.count; i++) {
      const scope = scopes[i]!;
      if (sequences[i]! > 0) lastSequence[scope] = sequences[i] = (lastSequence[scope] ?? 0) + 1 + unzigzag(sequences[i]! - 1);
      if (numbers[i]! > 0) lastNumber[scope] = numbers[i] = (lastNumber[scope] ?? 0) + unzigzag(numbers[i]! - 1);
      else numbers[i] = NaN;
    }
    this.#columns.set("sequence", sequences);
    this.#numbers = numbers;
  }

  #readSizes(): void {
    this.#sizes = unpack(this.#fields.sizes);
    this.#firstSize = new Float64Array(this.count).fill(-1);
    let at = 0;
    for (let i = 0; i < this.count; i++) {
      if (!this.#hasCalls(i)) continue;
      this.#firstSize[i] = at;
      at += 1 + 2 * Math.floor(this.#sizes[at]! / 2);
    }
  }

  /** An instance is inside the previous ones of its lane that have not ended when it begins; if it takes no time, maybe at their end. */
  #findLevels(): void {
    const [begins, ends] = [this.#columns.get("begin_ns")!, this.#columns.get("end_ns")!];
    const scopes = this.#columns.get("scope")!;
    const isOver = (outer: number, i: number): boolean =>
      ends[outer]! <= begins[i]! && !(ends[outer] === ends[i] && this.#scopes.isInside(scopes[i]!, scopes[outer]!));
    this.levels = new Uint16Array(this.count);
    let first = 0;
    this.#lanes = this.#fields.lanes.map((lane) => {
      const open: number[] = [];
      const end = first + lane.count;
      let levels = 0;
      for (let i = first; i < end; i++) {
        while (open.length > 0 && isOver(open.at(-1)!, i)) open.pop();
        this.levels[i] = open.length;
        open.push(i);
        levels = Math.max(levels, open.length);
      }
      const found = { ...lane, first, end, levels };
      first = end;
      return found;
    });
  }
}

const instancesIn = cachedFor((fields: InstanceFields, scopes: Scopes) => new Instances(fields, scopes));

/** null: the program marked no scopes. */
export function instancesOf(document: PageDocument): Instances | null {
  const [{ instances }, scopes] = [document, scopesOf(document)];
  return instances === undefined || scopes === null || instances.count === 0 ? null : instancesIn(instances, scopes);
}

/** The instances for which `isWanted` with the largest values, the largest first. */
export function worstOf(values: Float64Array, isWanted: (instance: number) => boolean, most: number): number[] {
  const found: number[] = [];
  let least = -Infinity;
  for (let i = 0; i < values.length; i++) {
    if (values[i]! <= least || !isWanted(i)) continue;
    found.push(i);
    if (found.length < 2 * most) continue;
    found.sort((a, b) => values[b]! - values[a]! || a - b);
    found.length = most;
    least = values[found.at(-1)!]!;
  }
  return found.sort((a, b) => values[b]! - values[a]! || a - b).slice(0, most);
}
