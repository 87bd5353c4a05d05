// layout.ts - where the instances of a lane are drawn: a row for each level, and in a row what is visible at a width
//
// A pixel may contain thousands of instances. They become one piece, which is found by searching for the next instance
// that begins after the pixel: what a drawing costs depends on its width, not on the number of instances.
import { cachedFor } from "../data/cached";
import type { Instances, Lane } from "../data/instances";
import type { Span } from "../state";

/** The instances of one level of a lane: those from `first` to before `end` of `Rows.order`. They do not overlap. */
export interface Row {
  readonly lane: Lane;
  readonly level: number;
  readonly first: number;
  readonly end: number;
}

/** What is drawn at once: one instance, or several that are too small. */
export interface Piece {
  /** in pixels */
  readonly left: number;
  readonly right: number;
  /** the first one */
  readonly instance: number;
  readonly count: number;
  /** any of them allocates or frees */
  readonly hasCalls: boolean;
}

const LEAST_PX = 1.5; // a narrower instance is joined with others of its pixel

export class Rows {
  readonly rows: readonly Row[];
  /** instances by lane, level and begin */
  readonly order: Uint32Array;
  readonly #levels: Uint16Array;
  readonly #begins: Float64Array;
  readonly #ends: Float64Array;
  readonly #callsBefore: Float64Array; // by place in `order`: calls of the instances before it

  constructor(instances: Instances) {
    this.#begins = instances.column("begin_ns");
    this.#ends = instances.column("end_ns");
    this.#levels = instances.levels;
    this.order = new Uint32Array(instances.count);
    this.#callsBefore = new Float64Array(instances.count + 1);
    this.rows = instances.lanes.flatMap((lane) => this.#rowsOf(lane));
    const [calls, frees] = [instances.column("allocation_calls"), instances.column("free_calls")];
    this.order.forEach((instance, at) => (this.#callsBefore[at + 1] = this.#callsBefore[at]! + calls[instance]! + frees[instance]!));
  }

  #rowsOf(lane: Lane): Row[] {
    const levels = this.#levels;
    const next = new Array<number>(lane.levels + 1).fill(0); // where the next instance of a level goes
    for (let i = lane.first; i < lane.end; i++) next[levels[i]! + 1]!++;
    next[0] = lane.first;
    for (let level = 0; level < lane.levels; level++) next[level + 1]! += next[level]!;
    const rows = Array.from({ length: lane.levels }, (_, level): Row => ({ lane, level, first: next[level]!, end: next[level + 1]! }));
    for (let i = lane.first; i < lane.end; i++) this.order[next[levels[i]!]!++] = i;
    return rows;
  }

  levelOf(instance: number): number {
    return this.#levels[instance]!;
  }

  /** Its begin and its end. */
  timesOf(instance: number): readonly [number, number] {
    return [this.#begins[instance]!, this.#ends[instance]!];
  }

  /** The first place of [from, end) whose time is after `ns`, or `end`. Near places are found fastest. */
  #after(times: Float64Array, ns: number, from: number, end: number): number {
    let [low, step] = [from, 1];
    while (low + step < end && times[this.order[low + step]!]! <= ns) {
      low += step;
      step *= 2;
    }
    let high = Math.min(end, low + step);
    while (low < high) {
      const middle = (low + high) >> 1;
      if (times[this.order[middle]!]! <= ns) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Visits what a row shows of an interval, from left to right. */
  visit({ first, end }: Row, { fromNs, toNs }: Span, width: number, show: (piece: Piece) => void): void {
    const scale = width / (toNs - fromNs);
    let at = this.#after(this.#ends, fromNs, first, end);
    while (at < end) {
      const instance = this.order[at]!;
      if (this.#begins[instance]! >= toNs) return;
      const left = Math.max(0, (this.#begins[instance]! - fromNs) * scale);
      const right = Math.min(width, (this.#ends[instance]! - fromNs) * scale);
      let next = at + 1;
      let shownRight = right;
      if (right - left < LEAST_PX) {
        shownRight = Math.floor(left) + 1;
        next = Math.max(next, this.#after(this.#begins, fromNs + shownRight / scale, at, end));
        const last = this.order[next - 1]!;
        if (next - 1 > at && (this.#ends[last]! - this.#begins[last]!) * scale >= LEAST_PX) next--; // it is drawn by itself
      }
      show({
        left: next > at + 1 || right - left < LEAST_PX ? Math.floor(left) : left,
        right: shownRight,
        instance,
        count: next - at,
        hasCalls: this.#callsBefore[next]! > this.#callsBefore[at]!,
      });
      at = next;
    }
  }

  /** The instance of a row at a time, or the longest one that is at most `nearNs` away; -1: none. */
  at({ first, end }: Row, ns: number, nearNs: number): number {
    let found = -1;
    let longest = -1;
    for (let at = this.#after(this.#ends, ns - nearNs, first, end); at < end; at++) {
      const instance = this.order[at]!;
      if (this.#begins[instance]! > ns + nearNs) break;
      const length = this.#ends[instance]! - this.#begins[instance]!;
      if (length <= longest) continue;
      longest = length;
      found = instance;
    }
    return found;
  }

  /** The first instance of a lane that ends after a time, without those inside others; or the last one. */
  outermostAfter(lane: Lane, ns: number): number {
    const { first, end } = this.rows.find((row) => row.lane === lane)!;
    return this.order[Math.min(this.#after(this.#ends, ns, first, end), end - 1)]!;
  }

  /** The next (1) or previous (-1) instance of the same row; -1: none. */
  neighbour(instance: number, step: 1 | -1): number {
    const level = this.#levels[instance]!;
    const { first, end } = this.rows.find(({ lane }) => lane.first <= instance && instance < lane.end)!.lane;
    for (let at = instance + step; first <= at && at < end; at += step) if (this.#levels[at] === level) return at;
    return -1;
  }
}

export const rowsOf = cachedFor((instances: Instances) => new Rows(instances));
