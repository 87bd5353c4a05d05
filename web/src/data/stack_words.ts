// stack_words.ts - stacks as lines of a table: the allocating function, its callers and, for
// equal lines, a text that distinguishes them
//
// Stacks with the same line are compared from the inner end outwards, by the names of their functions. In this order,
// the most similar stacks are neighbours. A fork is a frame where a stack differs from a neighbour. The caller after
// its last fork distinguishes it from the most similar stacks, the callers after earlier forks from the others. If no
// caller differs, a place in the code does.
import { finish } from "./cached";
import { countsOf, Labels } from "./labels";
import type { Recording } from "./recording";
import { baseName, CUT, type Place, type Tree } from "./tree";

/** Functions that only pass a request on do not show where it came from; at the inner end they are left out. */
const PASSES_ON = new RegExp(
  [
    /^operator (new|delete)/,
    /^(void\* )?std::(_|allocator)/,
    /^__gnu_cxx::/,
    /^hw_custom_heap_alloc$/,
    /^g_(malloc|try_malloc|slice_alloc)/,
    /^x?(malloc|calloc|realloc)$/,
    /^\?\? /,
  ]
    .map(({ source }) => source)
    .join("|"),
);
const SHORT_FRAMES = 3;
const FORKS_MOST = 3; // shown for a stack
const NEIGHBOURS_MOST = 200; // compared to find forks
const ROWS_A_PIECE = 200;

/** The place of a frame in the code: its line, or its address if the line is unknown. */
function codeOf({ file, line, module, address }: Code): string {
  return line > 0 ? `${baseName(file)}:${line}` : addressOf({ module, address });
}

function addressOf({ module, address }: Pick<Place, "module" | "address">): string {
  return `${module}+0x${address.toString(16)}`;
}

/** How many numbers two lists have in common at their beginning. */
function commonSites(a: readonly number[], b: readonly number[]): number {
  let depth = 0;
  while (depth < a.length && a[depth] === b[depth]) depth++;
  return depth;
}

export interface StackLine {
  readonly asks: string;
  /** " ← middle ← outer" */
  readonly chain: string;
  /** " ← … ← main"; "": no caller distinguishes it from stacks with the same line */
  readonly distinction: string;
  /** " (main.c:12)"; "": not needed */
  readonly place: string;
}

type Distinction = Pick<StackLine, "distinction" | "place">;

const ALONE: Distinction = { distinction: "", place: "" };

export class StackWords {
  readonly #recording: Recording;
  readonly #tree: Tree;
  readonly #labels: Labels;
  readonly #passes: Int8Array; // by function: 1 if it passes requests on; -1: not computed yet
  readonly #starts: Int32Array; // by row: the node of the allocating function; -1: not computed yet
  readonly #rows: readonly number[];
  readonly #rowsByLine = new Map<string, number[]>(); // rows by their line
  #grouped = 0; // number of rows so far
  readonly #distinction = new Map<number, Distinction>(); // by row
  readonly #codes: string[] = []; // by site: where its innermost frame is, and its address

  /** `rows` are the stacks to distinguish. */
  constructor(recording: Recording, labels: Labels, rows: readonly number[]) {
    this.#recording = recording;
    this.#rows = rows;
    this.#tree = recording.tree;
    this.#labels = labels;
    this.#passes = new Int8Array(recording.tree.functions.length).fill(-1);
    this.#starts = new Int32Array(recording.rows).fill(-1);
  }

  line(row: number): StackLine {
    const names = this.#shown(row).map((func) => this.#labels.label(func));
    const cut = this.#recording.cutStacks(row);
    if (cut > 0) names.unshift(`… ${cut} stacks`);
    return {
      asks: names[0] ?? "no frames",
      chain: names.slice(1).map((name) => ` ← ${name}`).join(""),
      ...this.#distinctionOf(row),
    };
  }

  text(row: number): string {
    const { asks, chain, distinction, place } = this.line(row);
    return asks + chain + distinction + place;
  }

  /** Groups rows with the same line, some with each step; finished steps are not repeated. */
  *grouped(): Generator<void> {
    while (this.#grouped < this.#rows.length) {
      const end = Math.min(this.#rows.length, this.#grouped + ROWS_A_PIECE);
      for (; this.#grouped < end; this.#grouped++) this.#group(this.#rows[this.#grouped]!);
      yield;
    }
  }

  /** Computes the distinguishing texts, one group with each step; finished steps are not repeated. */
  *distinguished(): Generator<void> {
    yield* this.grouped();
    for (const rows of this.#rowsByLine.values()) {
      if (rows.length === 1 || this.#distinction.has(rows[0]!)) continue;
      this.#distinguish(rows);
      yield;
    }
  }

  #keyOf(row: number): string {
    return [this.#recording.cutStacks(row), ...this.#shown(row).map((func) => this.#labels.number(func))].join();
  }

  #group(row: number): void {
    const key = this.#keyOf(row);
    const rows = this.#rowsByLine.get(key);
    if (rows === undefined) this.#rowsByLine.set(key, [row]);
    else rows.push(row);
  }

  #passesOn(func: number): boolean {
    if (this.#passes[func] === -1) this.#passes[func] = Number(PASSES_ON.test(this.#tree.functions[func]!.name));
    return this.#passes[func] === 1;
  }

  /** The node of the allocating function; 0: there are no frames. */
  #start(row: number): number {
    if (this.#starts[row] === -1) this.#starts[row] = this.#startOf(row);
    return this.#starts[row]!;
  }

  #startOf(row: number): number {
    const { parent, func, nodeOfRow } = this.#tree;
    const own = nodeOfRow[row]!;
    const inner = func[own] === CUT ? parent[own]! : own;
    let node = inner;
    while (node > 0 && this.#passesOn(func[node]!)) node = parent[node]!;
    return node > 0 ? node : inner;
  }

  #shown(row: number): number[] {
    const funcs: number[] = [];
    const { parent, func } = this.#tree;
    for (let node = this.#start(row); node > 0 && funcs.length < SHORT_FRAMES; node = parent[node]!) funcs.push(func[node]!);
    return funcs;
  }

  /**
   * The number of common frames of two stacks from the allocating function outwards, and their order by the first frame
   * that differs.
   */
  #compare(a: number, b: number): { readonly common: number; readonly order: number } {
    const { parent, func } = this.#tree;
    let [x, y, common] = [this.#start(a), this.#start(b), 0];
    for (; x > 0 && y > 0; x = parent[x]!, y = parent[y]!, common++) {
      const order = this.#labels.number(func[x]!) - this.#labels.number(func[y]!);
      if (order !== 0) return { common, order };
      if (x === y) return { common: Infinity, order: 0 }; // then all outer frames are the same, too
    }
    return x === y ? { common: Infinity, order: 0 } : { common, order: Math.sign(x - y) };
  }

  #frame(row: number, depth: number): string {
    let node = this.#start(row);
    for (let i = 0; i < depth && node > 0; i++) node = this.#tree.parent[node]!;
    return node > 0 ? this.#labels.label(this.#tree.func[node]!) : "nothing further out";
  }

  #distinctionOf(row: number): Distinction {
    finish(this.grouped());
    const known = this.#distinction.get(row);
    if (known !== undefined) return known;
    this.#distinguish(this.#rowsByLine.get(this.#keyOf(row))!);
    return this.#distinction.get(row) ?? ALONE;
  }

  /** Computes the distinguishing texts of rows with the same line. */
  #distinguish(rows: readonly number[]): void {
    const sorted = [...rows].sort((a, b) => this.#compare(a, b).order);
    const common = sorted.slice(1).map((row, i) => this.#compare(sorted[i]!, row).common); // of each with the next one
    const forks = sorted.map((_row, i) => forksOf(common, i));
    const byCallers = sorted.map((row, i) => this.#callers(row, forks[i]!.slice(-1)));
    const counts = countsOf(byCallers);
    sorted.forEach((row, i) => {
      if (counts.get(byCallers[i]!)! > 1) byCallers[i] = this.#callers(row, forks[i]!);
    });
    const groups = new Map<string, number[]>();
    sorted.forEach((row, i) => {
      const twins = groups.get(byCallers[i]!);
      if (twins === undefined) groups.set(byCallers[i]!, [row]);
      else twins.push(row);
    });
    for (const [distinction, twins] of groups) {
      if (twins.length === 1) this.#distinction.set(twins[0]!, { distinction, place: "" });
      else this.#distinguishByPlace(distinction, twins);
    }
  }

  #callers(row: number, forks: readonly number[]): string {
    let [text, at] = ["", SHORT_FRAMES];
    for (const fork of forks) {
      text += `${fork > at ? " ← …" : ""} ← ${this.#frame(row, fork)}`;
      at = fork + 1;
    }
    return text;
  }

  /** The place where a site is, and its address, which no other site has. */
  #codeOf(site: number): string {
    const [place] = this.#codes[site] === undefined ? this.#recording.places(site) : [];
    return (this.#codes[site] ??= place === undefined ? "" : `${codeOf(place)} ${place.address}`);
  }

  #siteOrder(a: readonly number[], b: readonly number[]): number {
    const fork = commonSites(a, b);
    const [own, other] = [a, b].map((sites) => (fork < sites.length ? this.#codeOf(sites[fork]!) : "")) as [string, string];
    return own < other ? -1 : Number(own > other);
  }

  /**
   * For stacks with the same function names: the place where each differs from the most similar ones, or all such
   * places.
   */
  #distinguishByPlace(distinction: string, rows: readonly number[]): void {
    const stacks = rows.map((row) => ({ row, sites: this.#recording.sites(row) }));
    stacks.sort((a, b) => this.#siteOrder(a.sites, b.sites));
    const common = stacks.slice(1).map(({ sites }, i) => commonSites(stacks[i]!.sites, sites)); // of each with the next one
    const forks = stacks.map(({ sites }, i) => forksOf(common, i).filter((depth) => depth < sites.length));
    const codes = this.#distinctCodes(stacks.flatMap(({ sites }, i) => forks[i]!.map((depth) => [depth, sites[depth]!] as const)));
    const words = ({ row, sites }: { row: number; sites: readonly number[] }, depths: readonly number[]): string =>
      depths.length > 0 ? joined(depths.map((depth) => codes.get(keyOf(depth, sites[depth]!))!)) : this.#recording.entryOf(row);
    const nearest = stacks.map((stack, i) => words(stack, forks[i]!.slice(-1)));
    const counts = countsOf(nearest);
    stacks.forEach((stack, i) => {
      const place = counts.get(nearest[i]!) === 1 ? nearest[i]! : words(stack, forks[i]!);
      this.#distinction.set(stack.row, { distinction, place: ` (${place})` });
    });
  }

  /**
   * For places where stacks differ, given as depths and sites: the text that distinguishes each from the others of its
   * depth. It is the innermost of its lines that no other has, or else its address.
   */
  #distinctCodes(forks: readonly (readonly [number, number])[]): ReadonlyMap<string, Code> {
    const places = new Map(forks.map(([depth, site]) => [keyOf(depth, site), { depth, at: this.#recording.places(site) }]));
    const lineOf = (depth: number, at: Place): string => `${depth} ${codeOf(at)}`;
    const counts = countsOf([...places.values()].flatMap(({ depth, at }) => [...new Set(at.map((each) => lineOf(depth, each)))]));
    const codes = new Map<string, Code>();
    for (const [key, { depth, at }] of places) {
      const own = at.find((each) => each.line > 0 && counts.get(lineOf(depth, each)) === 1);
      codes.set(key, own ?? { ...at[0]!, line: 0 });
    }
    return codes;
  }
}

type Code = Pick<Place, "file" | "line" | "module" | "address">;

function keyOf(depth: number, site: number): string {
  return `${depth} ${site}`;
}

/** main.c:12, 27, main+0x1c: a file name is not repeated. */
function joined(codes: readonly Code[]): string {
  return codes.map((code, i) => (code.line > 0 && code.file === codes[i - 1]?.file ? String(code.line) : codeOf(code))).join(", ");
}

/**
 * The depths at which a row of a sorted group differs from others, the innermost first; `common`: the number of common
 * frames of each row and the next.
 */
function forksOf(common: readonly number[], row: number): number[] {
  const forks = new Set<number>();
  for (const step of [-1, 1]) {
    let least = Infinity;
    const first = step < 0 ? row - 1 : row;
    for (let looked = 0, k = first; looked < NEIGHBOURS_MOST && k >= 0 && k < common.length; looked++, k += step)
      if (common[k]! < least) forks.add((least = common[k]!));
  }
  return [...forks].filter(Number.isFinite).sort((a, b) => a - b).slice(-FORKS_MOST);
}

const labelsKept = new WeakMap<Tree, Labels>();
const wordsKept = new WeakMap<Tree, StackWords>();

/** The labels of a recording's functions, shared with recordings that are narrowed from it. */
export function labelsOf(recording: Recording): Labels {
  const { tree } = recording;
  let labels = labelsKept.get(tree);
  if (labels === undefined) {
    const moduleOf = (func: number): string => recording.moduleName(tree.functions[func]!.module);
    labelsKept.set(tree, (labels = new Labels(tree.functions, moduleOf)));
  }
  return labels;
}

/** The lines of some of its stacks, each distinguished from the others. */
export function wordsAmong(recording: Recording, rows: readonly number[]): StackWords {
  return new StackWords(recording, labelsOf(recording), rows);
}

/** The lines of all its stacks, shared with recordings that are narrowed from it. */
export function stackWordsOf(recording: Recording): StackWords {
  let words = wordsKept.get(recording.tree);
  if (words === undefined) wordsKept.set(recording.tree, (words = wordsAmong(recording, [...Array(recording.rows).keys()])));
  return words;
}
