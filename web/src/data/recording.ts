// recording.ts - one recording as the views see it: figures for any cost and any interval of the run
//
// edge       a moment between two slices of time; edge 0 is the start, the last edge the end.
// row        a row of the document's `stacks`: one call stack, or the sum of cut stacks.
// ignored    rows that the user does not want to see: in a recording without them, all their amounts are 0.
import { isMoment, NOW, type Cost, type Span } from "../state";
import type { Kind } from "../text/format";
import { isBytes } from "../text/words";
import { LIFETIMES, type EstimatedFigure, type Lifetime, type PageDocument, type RowError, type RowFigure } from "./document";
import { errorOf, errorOfSum, rateOf, type Squares } from "./errors";
import { unpack } from "./packed";
import { Series, type Amount } from "./series";
import { baseName, Places, totalsOf, treeOf, type Place, type Tree } from "./tree";

const COLUMN: Readonly<Record<Cost, EstimatedFigure>> = {
  peak: "peak_bytes",
  live: "live_bytes",
  calls: "calls",
  bytes: "bytes",
  temporary: "temporary_calls",
};

const AMOUNT: Readonly<Record<Cost, Amount>> = {
  peak: "live_bytes",
  live: "live_bytes",
  calls: "calls",
  bytes: "bytes",
  temporary: "temporary",
};

/** A span as its first and last edge, which are equal for a moment. */
export interface Edges {
  readonly from: number;
  readonly to: number;
  /** the start of sums: for a moment, the start of the run */
  readonly since: number;
}

/** The sum of a figure of the slices within an interval, or until a moment. */
export function sumIn(ofSlices: readonly number[], { since, to }: Edges): number {
  return ofSlices.slice(since, to).reduce((all, part) => all + part, 0);
}

/** The index of the time nearest to `timeNs`. */
export function nearest(timesNs: Float64Array, timeNs: number): number {
  let [low, high] = [0, timesNs.length - 1];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (timesNs[middle]! <= timeNs) low = middle;
    else high = middle;
  }
  return timeNs - timesNs[low]! < timesNs[high]! - timeNs ? low : high;
}

function byLifetime(columnOf: (lifetime: Lifetime) => Float64Array): Record<Lifetime, Float64Array> {
  const made: Partial<Record<Lifetime, Float64Array>> = {};
  for (const lifetime of LIFETIMES) made[lifetime] = columnOf(lifetime);
  return made as Record<Lifetime, Float64Array>;
}

export class Recording {
  readonly document: PageDocument;
  readonly edgesNs: Float64Array;
  readonly tree: Tree;
  readonly rows: number;
  readonly #places: Places;
  readonly #whole: Recording | null; // the recording with all rows, if this one leaves some out
  readonly #ignored: Uint8Array | null;
  readonly #columns = new Map<RowFigure | RowError, Float64Array>();
  readonly #rates = new Map<Kind, Float64Array>();
  readonly #meanRates = new Map<Kind, number>();
  #series: Series | null = null;
  #lifetimes: Record<Lifetime, Float64Array> | null = null;
  #cut: Float64Array | null = null;
  #entry: Float64Array | null = null;
  #nodes: { readonly up: Float64Array; readonly site: Float64Array; readonly ofRow: Float64Array } | null = null;

  constructor(
    document: PageDocument,
    tree: Tree = treeOf(document),
    whole: Recording | null = null,
    ignored: Uint8Array | null = null,
  ) {
    this.document = document;
    this.edgesNs = whole?.edgesNs ?? Float64Array.from([...document.slices.from_ns, document.run.duration_ns]);
    this.tree = tree;
    this.rows = document.stacks.count;
    this.#places = new Places(document);
    this.#whole = whole;
    this.#ignored = ignored;
  }

  /** The same recording without some rows; `ignored` is 1 for each row to leave out. */
  without(ignored: Uint8Array | null): Recording {
    return ignored === null ? this : new Recording(this.document, this.tree, this, ignored);
  }

  isIgnored(row: number): boolean {
    return this.#ignored?.[row] === 1;
  }

  #withoutIgnored(column: Float64Array): Float64Array {
    return this.#ignored === null ? column : column.map((amount, row) => (this.isIgnored(row) ? 0 : amount));
  }

  column(figure: RowFigure | RowError): Float64Array {
    let column = this.#columns.get(figure);
    if (column === undefined)
      this.#columns.set(figure, (column = this.#withoutIgnored(this.#whole?.column(figure) ?? unpack(this.document.stacks[figure]!))));
    return column;
  }

  /** Whether figures are estimates, which have errors. */
  get isSampled(): boolean {
    return this.document.stacks.calls_error !== undefined;
  }

  /** The error of a row's figure in the whole run; undefined: the recording is exact. */
  errorOf(row: number, figure: EstimatedFigure): number | undefined {
    return this.isSampled ? this.column(`${figure}_error`)[row] : undefined;
  }

  /** The square of each row's error for each call, or byte (see errors.ts). */
  #ratesOf(kind: Kind): Float64Array {
    if (this.#whole !== null) return this.#whole.#ratesOf(kind);
    let rates = this.#rates.get(kind);
    if (rates === undefined) {
      const [all, live] = kind === "bytes" ? (["bytes", "live_bytes"] as const) : (["calls", "live_blocks"] as const);
      const [sums, sumErrors, lives, liveErrors] = [this.column(all), this.column(`${all}_error`), this.column(live), this.column(`${live}_error`)];
      rates = sums.map((sum, row) => (sum > 0 ? rateOf(sum, sumErrors[row]!) : rateOf(lives[row]!, liveErrors[row]!)));
      this.#rates.set(kind, rates);
    }
    return rates;
  }

  /** The squares of the errors of amounts of all rows, which are parts of the rows' amounts. */
  squaresOf(kind: Kind, amounts: Float64Array): Squares {
    if (!this.isSampled) return undefined;
    const rates = this.#ratesOf(kind);
    return amounts.map((amount, row) => Math.abs(amount) * rates[row]!);
  }

  /** The error of an amount that is a part of a row's. */
  errorOfPart(row: number, kind: Kind, amount: number): number | undefined {
    return this.isSampled ? errorOf(amount * this.#ratesOf(kind)[row]!) : undefined;
  }

  /** The squares of the errors of the rows' costs. */
  squares(cost: Cost, span: Span | null): Squares {
    if (!this.isSampled) return undefined;
    if (span === null) return this.column(`${COLUMN[cost]}_error`).map((error) => error * error);
    return this.squaresOf(isBytes(cost) ? "bytes" : "count", this.costs(cost, span));
  }

  /** The square for each byte, or call, of all rows together. */
  #meanRate(kind: Kind): number {
    if (this.#whole !== null) return this.#whole.#meanRate(kind);
    let rate = this.#meanRates.get(kind);
    if (rate === undefined) {
      const figure = kind === "bytes" ? "bytes" : "calls";
      const sum = this.column(figure).reduce((all, part) => all + part, 0);
      rate = rateOf(sum, errorOfSum(this.column(`${figure}_error`).map((error) => error * error))!);
      this.#meanRates.set(kind, rate);
    }
    return rate;
  }

  /** The error of an amount whose rows are not known: of blocks such as all of the run together. */
  errorAtMean(kind: Kind, amount: number): number | undefined {
    return this.isSampled ? errorOf(Math.abs(amount) * this.#meanRate(kind)) : undefined;
  }

  /** The recording with all rows. */
  get withIgnored(): Recording {
    return this.#whole ?? this;
  }

  /** An amount of each row at an edge. */
  rowsAt(amount: "live_bytes" | "live_blocks", edge: number): Float64Array {
    return Float64Array.from({ length: this.rows }, (_, row) => this.series.until(row, amount, edge));
  }

  /**
   * The squares of the errors of what the rows grew by in an interval. Blocks that were live at both of its ends have no part in
   * it: it is at most that of all blocks that were live at either end, or that were allocated or freed within.
   */
  growthSquares(kind: Kind, edges: Edges): Squares {
    if (!this.isSampled) return undefined;
    const [live, all] = kind === "bytes" ? (["live_bytes", "bytes"] as const) : (["live_blocks", "calls"] as const);
    const most = Float64Array.from({ length: this.rows }, (_, row) => {
      const [start, end, allocated] = [this.series.until(row, live, edges.since), this.series.until(row, live, edges.to), this.amountIn(row, all, edges)];
      return Math.min(start + end, allocated + Math.max(0, allocated - (end - start)));
    });
    return this.squaresOf(kind, most);
  }

  /** Unpacked on first use: the first screen shows the whole run, which does not need it. */
  get series(): Series {
    return (this.#series ??= this.#whole?.series.without(this.#ignored!) ?? Series.of(this.document.stacks.series, this.rows));
  }

  /** The number of cut stacks summed up in a row; 0: the row is one stack. */
  cutStacks(row: number): number {
    return (this.#cut ??= unpack(this.document.stacks.cut))[row]!;
  }

  /** The function that a row's stack called: malloc, operator new, ... */
  entryOf(row: number): string {
    this.#entry ??= unpack(this.document.stacks.entry);
    return this.document.entries[this.#entry[row]!] ?? "";
  }

  /**
   * The number of blocks by row and lifetime: blocks freed within an interval (or until a moment), or live at its
   * end.
   */
  lifetimes(span: Span | null): Record<Lifetime, Float64Array> {
    if (span === null)
      return (this.#lifetimes ??= byLifetime((lifetime) => this.#withoutIgnored(unpack(this.document.stacks.lifetimes[lifetime]))));
    const { series } = this;
    const { since, to } = this.edgesOf(span);
    const [start, firsts, lasts] = [0, since, to].map((edge) => series.lastsBefore(edge)) as [Int32Array, Int32Array, Int32Array];
    const left = series.between("left", start, lasts); // blocks left with their process were not freed either
    return byLifetime((lifetime) =>
      lifetime === "until_end"
        ? series.between("live_blocks", start, lasts).map((live, row) => live + left[row]!)
        : series.between(lifetime, firsts, lasts),
    );
  }

  /** The edges nearest to a span. */
  edgesOf(span: Span): Edges {
    const [from, to] = [nearest(this.edgesNs, span.fromNs), nearest(this.edgesNs, span.toNs)];
    return { from, to, since: isMoment(span) ? 0 : from };
  }

  /** The interval of whole slices that a span is at present. */
  spanNow(span: Span): Span {
    const { edgesNs } = this;
    if (span.toNs !== NOW) return span;
    const [last, toNs] = [edgesNs.length - 1, edgesNs[edgesNs.length - 1]!];
    const from = nearest(edgesNs, span.fromNs < 0 ? Math.max(0, toNs + span.fromNs) : span.fromNs);
    return { fromNs: edgesNs[Math.min(from, last - 1)]!, toNs };
  }

  /** The sum of a row's amount within an interval, or until a moment. */
  amountIn(row: number, amount: Amount, { since, to }: Edges): number {
    return this.series.until(row, amount, to) - this.series.until(row, amount, since);
  }

  /** Live bytes of the run at an edge. */
  liveAt(edge: number): number {
    return edge === 0 ? 0 : this.document.slices.live_bytes[edge - 1]!;
  }

  /** Calls `take` for each edge before which events were dropped, with the live bytes of all blocks, not only of those that live on. */
  dropped(take: (edge: number, bytes: number) => void): void {
    this.edgesNs.forEach((ns, edge) => {
      if (edge > 0 && ns <= this.document.run.dropped_until_ns) take(edge, this.liveAt(edge));
    });
  }

  /** The edge of an interval with the most live bytes. */
  highest({ from, to }: Edges): number {
    let highest = from;
    for (let edge = from; edge <= to; edge++) if (this.liveAt(edge) > this.liveAt(highest)) highest = edge;
    return highest;
  }

  /** The cost of each row: over the whole run, within an interval, or until a moment. */
  costs(cost: Cost, span: Span | null): Float64Array {
    if (span === null) return this.column(COLUMN[cost]);
    return this.costsOf(this.series, cost, this.edgesOf(span));
  }

  /** The same for the rows of another series (sizes, threads). */
  costsOf(series: Series, cost: Cost, edges: Edges): Float64Array {
    const amount = AMOUNT[cost];
    const costs = new Float64Array(series.rows);
    const isState = amount === "live_bytes"; // at a moment, not summed over time
    const to = cost === "peak" ? this.highest(edges) : edges.to;
    for (let row = 0; row < costs.length; row++)
      costs[row] = series.until(row, amount, to) - (isState ? 0 : series.until(row, amount, edges.since));
    return costs;
  }

  /** The own amount of each node of the tree, from the rows' amounts. */
  self(costs: Float64Array): Float64Array {
    const self = new Float64Array(this.tree.parent.length);
    costs.forEach((amount, row) => (self[this.tree.nodeOfRow[row]!]! += amount));
    return self;
  }

  totals(self: Float64Array): Float64Array {
    return totalsOf(this.tree.parent, self);
  }

  /** Live bytes of some rows at each edge. */
  liveCurve(rows: Iterable<number>): Float64Array {
    const curve = new Float64Array(this.edgesNs.length);
    for (const row of rows) this.series.addTo(curve, row, "live_bytes");
    return curve;
  }

  /** The places in the code of a row's stack, innermost first, as indices into the document's `sites`. */
  sites(row: number): number[] {
    if (this.#whole !== null) return this.#whole.sites(row);
    this.#nodes ??= {
      up: unpack(this.document.nodes.parent),
      site: unpack(this.document.nodes.site),
      ofRow: unpack(this.document.stacks.node),
    };
    const { up, site, ofRow } = this.#nodes;
    const sites: number[] = [];
    for (let node = ofRow[row]! - 1; node >= 0; node = up[node] === 0 ? -1 : node - up[node]!) sites.push(site[node]!);
    return sites;
  }

  /** The frames at a place in the code, innermost first: inlined functions, then the function that contains them. */
  places(site: number): Place[] {
    const places: Place[] = [];
    for (let frame = this.document.sites.frame[site]!; frame <= this.#places.lastFrame(site); frame++)
      places.push(this.#places.place(site, frame));
    return places;
  }

  /** The frames of a row's stack, innermost first. */
  stack(row: number): Place[] {
    return this.sites(row).flatMap((site) => this.places(site));
  }

  /** The path of a module, with its shown name as the file name. */
  moduleAsRun(module: number): string {
    const path = this.#places.modulePath(module);
    return path.slice(0, path.length - baseName(path).length) + this.moduleName(module);
  }

  moduleName(module: number): string {
    return this.#places.moduleName(module);
  }
}
