// difference.ts - two recordings as one call tree: a function that is the same in both is one frame
import type { Cost, Span } from "../state";
import { isBytes } from "../text/words";
import { Branching } from "./branching";
import { Labels } from "./labels";
import type { Search } from "../ui/find";
import { rowsMatching, type Searched } from "./matching";
import type { Recording } from "./recording";
import { baseName, CUT, totalsOf, type CodeFunction } from "./tree";

const SAMPLES_MISSED = 3; // exp(-3) is 5 %

/** The amounts of both runs, for the same nodes or functions. */
export interface Pair {
  readonly old: Float64Array;
  readonly now: Float64Array;
}

/** A function of one run or of both, with its module's path. */
export type SharedFunction = Omit<CodeFunction, "module"> & Searched;

/** Functions that `heapwright diff` considers the same share a number here, also within one run. */
class FunctionNumbers {
  readonly functions: SharedFunction[] = [];
  readonly #ofIdentity = new Map<number, number>();

  of(recording: Recording): Int32Array {
    return Int32Array.from(recording.tree.functions, (func) => {
      let number = this.#ofIdentity.get(func.identity);
      if (number === undefined) {
        this.#ofIdentity.set(func.identity, (number = this.functions.length));
        this.functions.push({ ...func, module: recording.moduleAsRun(func.module) });
      }
      return number;
    });
  }
}

/** The costs of the recording; after its end nothing is live, and nothing happens. */
function costsWithin(recording: Recording, cost: Cost, span: Span | null): Float64Array {
  if (span === null) return recording.costs(cost, null);
  const isState = cost === "peak" || cost === "live";
  const hasEnded = isState && span.fromNs > recording.document.run.duration_ns;
  return hasEnded ? new Float64Array(recording.rows) : recording.costsOf(recording.series, cost, recording.edgesOf(span));
}

export class Difference {
  readonly old: Recording;
  readonly now: Recording;
  readonly functions: readonly SharedFunction[];
  readonly labels: Labels;
  readonly parent: Int32Array;
  readonly func: Int32Array;
  readonly #ofOld: Int32Array;
  readonly #ofNow: Int32Array;

  /** `like`: a difference of the same two recordings with other ignored stacks, whose tree is used again. */
  constructor(old: Recording, now: Recording, like: Difference | null = null) {
    this.old = old;
    this.now = now;
    if (like !== null) {
      [this.functions, this.labels, this.parent, this.func] = [like.functions, like.labels, like.parent, like.func];
      [this.#ofOld, this.#ofNow] = [like.#ofOld, like.#ofNow];
      return;
    }
    const numbers = new FunctionNumbers();
    const both = new Branching(-1);
    const merge = (recording: Recording): Int32Array => {
      const own = numbers.of(recording);
      const merged = new Int32Array(recording.tree.parent.length);
      for (let node = 1; node < merged.length; node++) {
        const above = merged[recording.tree.parent[node]!]!;
        const number = recording.tree.func[node] === CUT ? CUT : own[recording.tree.func[node]!]!;
        merged[node] = both.child(above, number);
      }
      return merged;
    };
    this.#ofOld = merge(old);
    this.#ofNow = merge(now);
    this.functions = numbers.functions;
    this.labels = new Labels(this.functions, (func) => baseName(this.functions[func]!.module));
    this.parent = Int32Array.from(both.parent);
    this.func = Int32Array.from(both.func);
  }

  /** The same without the stacks that pass through a match of `search`. */
  without(search: Search): Difference {
    const { old, now } = this;
    if (search.matches === null) return this;
    return new Difference(old.without(rowsMatching(old, search)), now.without(rowsMatching(now, search)), this);
  }

  /** The own amount of each node in both runs, over the same time since their starts. */
  self(cost: Cost, span: Span | null): Pair {
    const of = (recording: Recording, merged: Int32Array): Float64Array => {
      const sums = new Float64Array(this.parent.length);
      recording.self(costsWithin(recording, cost, span)).forEach((amount, node) => (sums[merged[node]!]! += amount));
      return sums;
    };
    return { old: of(this.old, this.#ofOld), now: of(this.now, this.#ofNow) };
  }

  /** The squares of the errors of these amounts; undefined: both runs are exact. */
  squares(cost: Cost, span: Span | null): Pair | undefined {
    if (!this.old.isSampled && !this.now.isSampled) return undefined;
    const kind = isBytes(cost) ? "bytes" : "count";
    const of = (recording: Recording, merged: Int32Array): Float64Array => {
      const sums = new Float64Array(this.parent.length);
      const rows = span === null ? recording.squares(cost, null) : recording.squaresOf(kind, costsWithin(recording, cost, span));
      if (rows) recording.self(rows).forEach((square, node) => (sums[merged[node]!]! += square));
      return sums;
    };
    return { old: of(this.old, this.#ofOld), now: of(this.now, this.#ofNow) };
  }

  /**
   * The error of a change of bytes where a sample of one side has nothing: 95 % of the blocks that it may have missed are not
   * larger.
   */
  missedBytes(old: number, now: number): number {
    const of = (amount: number, { document: { run } }: Recording): number => (amount === 0 ? SAMPLES_MISSED * (run.sample_bytes ?? 0) : 0);
    return Math.max(of(old, this.old), of(now, this.now));
  }

  /** The longer run, whose times the page shows. */
  get longer(): Recording {
    return this.old.document.run.duration_ns > this.now.document.run.duration_ns ? this.old : this.now;
  }

  /** The totals of this tree, or of another one into which its amounts were merged. */
  totals({ old, now }: Pair, parent = this.parent): Pair {
    return { old: totalsOf(parent, old), now: totalsOf(parent, now) };
  }

  /** The name, shortened for a box. */
  functionLabel(func: number): string {
    return func in this.functions ? this.labels.label(func) : this.functionName(func);
  }

  functionName(func: number): string {
    if (func === CUT) return "… stacks cut from this page";
    return this.functions[func]?.name ?? "all";
  }
}
