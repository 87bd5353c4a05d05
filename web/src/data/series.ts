// series.ts - rows over time: sparse changes, summed up so that any interval takes two look-ups
import type { PackedSeries, PageDocument } from "./document";
import { cachedFor } from "./cached";
import { unpack, unzigzag } from "./packed";

/** Blocks that were freed, by their lifetime. */
export const ENDED = ["temporary", "below_1ms", "below_1s", "below_1min", "1min_or_longer"] as const;
const ENDINGS = [...ENDED, "left"] as const; // `left`: live when their process ended, while others of the run continued
const AMOUNTS = ["calls", "bytes", "live_blocks", "live_bytes", ...ENDINGS] as const;
export type Amount = (typeof AMOUNTS)[number];

const LEAST_NUMBERS = 5; // an entry has at least this many

function columns(entries: number): Record<Amount, Float64Array> {
  const made: Partial<Record<Amount, Float64Array>> = {};
  for (const amount of AMOUNTS) made[amount] = new Float64Array(entries);
  return made as Record<Amount, Float64Array>;
}

/** Entries of all rows, one row after another; the entries of a row ascend by slice, their amounts are sums so far. */
export class Series {
  readonly rows: number;
  #first: Int32Array; // the first entry of a row
  #end: Int32Array; // after the last of them
  #slice: Int32Array;
  #sums: Record<Amount, Float64Array>;

  constructor(packed: string, rows: number) {
    const numbers = unpack(packed);
    const most = Math.floor(numbers.length / LEAST_NUMBERS);
    this.rows = rows;
    this.#first = new Int32Array(rows);
    this.#end = new Int32Array(rows);
    this.#slice = new Int32Array(most);
    this.#sums = columns(most);
    this.#read(numbers);
  }

  /** Makes a series from a document. */
  static of(packed: PackedSeries, rows: number): Series {
    return typeof packed === "string" ? new Series(packed, rows) : packed();
  }

  /** Makes a series from rows of other series, given by `from`; null: an empty row. */
  static joined(rows: number, from: (row: number) => readonly [Series, number] | null): Series {
    const sources = Array.from({ length: rows }, (_, row) => from(row));
    const entriesOf = ([series, row]: readonly [Series, number]): number => series.#end[row]! - series.#first[row]!;
    const entries = sources.reduce((sum, source) => sum + (source === null ? 0 : entriesOf(source)), 0);
    const made = new Series("", rows);
    made.#slice = new Int32Array(entries);
    made.#sums = columns(entries);
    let at = 0;
    sources.forEach((source, row) => {
      made.#first[row] = at;
      if (source !== null) at = made.#copy(at, ...source);
      made.#end[row] = at;
    });
    return made;
  }

  #copy(to: number, source: Series, row: number): number {
    const [first, end] = [source.#first[row]!, source.#end[row]!];
    this.#slice.set(source.#slice.subarray(first, end), to);
    for (const amount of AMOUNTS) this.#sums[amount].set(source.#sums[amount].subarray(first, end), to);
    return to + end - first;
  }

  /** The same series, in which ignored rows are empty. */
  without(ignored: Uint8Array): Series {
    const made = new Series("", this.rows);
    [made.#first, made.#slice, made.#sums] = [this.#first, this.#slice, this.#sums];
    made.#end = this.#end.map((end, row) => (ignored[row] === 1 ? this.#first[row]! : end));
    return made;
  }

  /** Uses columns in arrays, which are faster than by name: there may be a million numbers. */
  #read(numbers: Float64Array): void {
    const { calls, bytes, live_blocks, live_bytes } = this.#sums;
    const ended = ENDINGS.map((ending) => this.#sums[ending]);
    const counts = new Float64Array(ENDINGS.length + 1); // of its row until the entry; the last one: blocks whose end was not seen
    for (let row = 0, at = 0, entry = 0; row < this.rows; row++) {
      let [slice, allCalls, allBytes, liveBlocks, liveBytes] = [0, 0, 0, 0, 0];
      counts.fill(0);
      this.#first[row] = entry;
      for (let left = numbers[at++] ?? 0; left > 0; left--, entry++) {
        this.#slice[entry] = slice += numbers[at++]!;
        liveBlocks += numbers[at]!;
        calls[entry] = allCalls += numbers[at++]!;
        bytes[entry] = allBytes += numbers[at++]!;
        live_bytes[entry] = liveBytes += unzigzag(numbers[at++]!);
        for (let which = numbers[at++]!, ending = 0; which > 0; which >>= 1, ending++) {
          if ((which & 1) === 0) continue;
          liveBlocks -= numbers[at]!;
          counts[ending]! += numbers[at++]!;
        }
        live_blocks[entry] = liveBlocks;
        for (let ending = 0; ending < ended.length; ending++) ended[ending]![entry] = counts[ending]!;
      }
      this.#end[row] = entry;
    }
  }

  /** Each row's last entry before an edge; -1: it has none. */
  lastsBefore(edge: number): Int32Array {
    const lasts = new Int32Array(this.rows);
    for (let row = 0; row < lasts.length; row++) lasts[row] = this.#lastBefore(row, edge);
    return lasts;
  }

  /** The sum of an amount of each row from after one entry until another. */
  between(amount: Amount, firsts: Int32Array, lasts: Int32Array): Float64Array {
    const [sums, found] = [this.#sums[amount], new Float64Array(this.rows)];
    for (let row = 0; row < found.length; row++)
      if (lasts[row]! >= 0) found[row] = sums[lasts[row]!]! - (firsts[row]! < 0 ? 0 : sums[firsts[row]!]!);
    return found;
  }

  #lastBefore(row: number, edge: number): number {
    let [low, high] = [this.#first[row]!, this.#end[row]!]; // the first entry at or after the edge
    const first = low;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#slice[middle]! < edge) low = middle + 1;
      else high = middle;
    }
    return low === first ? -1 : low - 1;
  }

  /** The sum of an amount over the slices before an edge. */
  until(row: number, amount: Amount, edge: number): number {
    const last = this.#lastBefore(row, edge);
    return last < 0 ? 0 : this.#sums[amount][last]!;
  }

  /** The sum of a row's amount over `edges` edges: the area below its curve. */
  weight(row: number, amount: Amount, edges: number): number {
    const end = this.#end[row]!;
    let sum = 0;
    for (let entry = this.#first[row]!; entry < end; entry++) {
      const until = entry + 1 < end ? this.#slice[entry + 1]! : edges - 1;
      sum += this.#sums[amount][entry]! * (until - this.#slice[entry]!);
    }
    return sum;
  }

  /** Adds the changes of a row's amount, from each edge to the next, to the steps of a curve. */
  addStepsTo(steps: Float64Array, row: number, amount: Amount): void {
    let before = 0;
    for (let entry = this.#first[row]!; entry < this.#end[row]!; entry++) {
      const value = this.#sums[amount][entry]!;
      steps[this.#slice[entry]! + 1]! += value - before;
      before = value;
    }
  }

  /** Adds a row's amount at every edge to a curve. */
  addTo(curve: Float64Array, row: number, amount: Amount): void {
    const end = this.#end[row]!;
    let entry = this.#first[row]!;
    let value = 0;
    for (let edge = 0; edge < curve.length; edge++) {
      while (entry < end && this.#slice[entry]! < edge) value = this.#sums[amount][entry++]!;
      curve[edge]! += value;
    }
  }
}

/** The series of a document, unpacked once. */
export const sizeSeries = cachedFor(({ size_series: rows }: PageDocument) => Series.of(rows.series, rows.from.length));
export const threadSeries = cachedFor(({ threads }: PageDocument) => Series.of(threads.series, threads.tid.length));
export const handoverSeries = cachedFor(({ handovers }: PageDocument) => Series.of(handovers!.series ?? "", handovers!.owner.length));
