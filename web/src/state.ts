// state.ts - the state of the page, stored in the URL's fragment so that a view can be sent as a link

export const VIEWS = ["overview", "timeline", "flame", "scopes", "leaks", "sizes", "threads", "lifetimes", "durations"] as const;
export type View = (typeof VIEWS)[number];

export const COSTS = ["peak", "live", "calls", "bytes", "temporary"] as const;
export type Cost = (typeof COSTS)[number];

export const FLAME_MODES = ["icicle", "sandwich"] as const;
export type FlameMode = (typeof FLAME_MODES)[number];

export const SCOPE_SHAPES = ["table", "tree"] as const;
export type ScopeShape = (typeof SCOPE_SHAPES)[number];

export const SCOPE_PARTS = ["all", "self"] as const;
/** with the scopes inside, or without them */
export type ScopePart = (typeof SCOPE_PARTS)[number];

export const CURVES = ["stacks", "sizes", "threads"] as const;
export type Curves = (typeof CURVES)[number];

export const GRAINS = ["exact", "classes"] as const;
/** whether each block size has a row, or sizes up to a power of two share one */
export type Grain = (typeof GRAINS)[number];

/** The end of the run, which goes on while the program does. */
export const NOW = Infinity;

/**
 * An interval of the run; a moment where both ends are the same. An interval that ends NOW moves with the run: a negative
 * `fromNs` is then so long before the end. Views get the interval that it is at present.
 */
export interface Span {
  readonly fromNs: number;
  readonly toNs: number;
}

export function isMoment({ fromNs, toNs }: Span): boolean {
  return fromNs === toNs;
}

export interface State {
  readonly view: View;
  readonly cost: Cost;
  /** the ID of the shown process; 0: the one that the page opens with */
  readonly process: number;
  /** the row of the chosen thread; -1: all threads */
  readonly thread: number;
  /** null: the whole run */
  readonly span: Span | null;
  readonly mode: FlameMode;
  readonly curves: Curves;
  readonly shape: ScopeShape;
  readonly grain: Grain;
  readonly part: ScopePart;
  /** the chosen instance of a scope; -1: none */
  readonly instance: number;
  /** the part of the run that the timeline shows; null: all of it */
  readonly window: Span | null;
  /** a pattern for names; "": none */
  readonly find: string;
  /** a pattern: stacks that pass through its matches are left out everywhere; "": none */
  readonly ignore: string;
  /** the node of the call tree that fills the flame graph; 0: the root */
  readonly zoom: number;
  /** the function in the middle of the sandwich; -1: none chosen */
  readonly of: number;
  /** the chosen row of a table (for sizes the smallest size in it); -1: none */
  readonly row: number;
  /** "column+" or "column-"; "": the view's default */
  readonly sort: string;
}

const FRESH: State = {
  view: "overview",
  cost: "peak",
  process: 0,
  thread: -1,
  span: null,
  mode: "icicle",
  curves: "stacks",
  shape: "table",
  grain: "exact",
  part: "all",
  instance: -1,
  window: null,
  find: "",
  ignore: "",
  zoom: 0,
  of: -1,
  row: -1,
  sort: "",
};

function oneOf<T extends string>(choices: readonly T[], text: string | null, otherwise: T): T {
  return choices.find((choice) => choice === text) ?? otherwise;
}

function wholeNumber(text: string | null, otherwise: number): number {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : otherwise;
}

function spanOf(values: URLSearchParams): Span | null {
  const at = wholeNumber(values.get("at"), -1);
  if (at >= 0) return { fromNs: at, toNs: at };
  const since = wholeNumber(values.get("since"), -1);
  if (since >= 0) return { fromNs: since, toNs: NOW };
  const last = wholeNumber(values.get("last"), 0);
  if (last > 0) return { fromNs: -last, toNs: NOW };
  const fromNs = wholeNumber(values.get("from"), -1);
  const toNs = wholeNumber(values.get("to"), -1);
  return fromNs >= 0 && toNs > fromNs ? { fromNs, toNs } : null;
}

function windowOf(text: string | null): Span | null {
  const [fromNs = -1, toNs = -1] = (text ?? "").split("-").map((part) => wholeNumber(part, -1));
  return fromNs >= 0 && toNs > fromNs ? { fromNs, toNs } : null;
}

/** The state of a fragment; invalid parts are ignored. */
export function parseFragment(fragment: string): State {
  const [view, rest] = fragment.replace(/^#/, "").split("?", 2);
  const values = new URLSearchParams(rest ?? "");
  return {
    view: oneOf(VIEWS, view ?? "", FRESH.view),
    cost: oneOf(COSTS, values.get("cost"), FRESH.cost),
    process: wholeNumber(values.get("process"), FRESH.process),
    thread: wholeNumber(values.get("thread"), FRESH.thread),
    span: spanOf(values),
    mode: oneOf(FLAME_MODES, values.get("mode"), FRESH.mode),
    curves: oneOf(CURVES, values.get("curves"), FRESH.curves),
    shape: oneOf(SCOPE_SHAPES, values.get("shape"), FRESH.shape),
    grain: oneOf(GRAINS, values.get("grain"), FRESH.grain),
    part: oneOf(SCOPE_PARTS, values.get("part"), FRESH.part),
    instance: wholeNumber(values.get("instance"), FRESH.instance),
    window: windowOf(values.get("window")),
    find: values.get("find") ?? FRESH.find,
    ignore: values.get("ignore") ?? FRESH.ignore,
    zoom: wholeNumber(values.get("zoom"), FRESH.zoom),
    of: wholeNumber(values.get("of"), FRESH.of),
    row: wholeNumber(values.get("row"), FRESH.row),
    sort: values.get("sort") ?? FRESH.sort,
  };
}

/** A span as values of the fragment. */
export function spanValues(span: Span): [string, string][] {
  if (isMoment(span)) return [["at", String(span.toNs)]];
  if (span.toNs === NOW) return [span.fromNs < 0 ? ["last", String(-span.fromNs)] : ["since", String(span.fromNs)]];
  return [
    ["from", String(span.fromNs)],
    ["to", String(span.toNs)],
  ];
}

const KEYS = [
  "process",
  "thread",
  "cost",
  "mode",
  "curves",
  "shape",
  "grain",
  "part",
  "instance",
  "find",
  "ignore",
  "zoom",
  "of",
  "row",
  "sort",
] as const;

/** The fragment of a state: only differences from a fresh page, so that links stay short. */
export function formatFragment(state: State): string {
  const values = new URLSearchParams(state.span === null ? [] : spanValues(state.span));
  for (const key of KEYS) if (state[key] !== FRESH[key]) values.set(key, String(state[key]));
  if (state.window !== null) values.set("window", `${state.window.fromNs}-${state.window.toNs}`);
  const rest = values.toString();
  return `#${state.view}${rest === "" ? "" : `?${rest}`}`;
}
