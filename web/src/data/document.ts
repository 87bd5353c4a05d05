// document.ts - the document that heapwright writes, as docs/page-data.md describes it
import type { MemoryFields } from "./memory";
import type { Series } from "./series";

/** base64 of unsigned LEB128 varints; or, made by the page itself, the numbers */
export type Packed = string | Float64Array;

/** Packed; or, made by the page itself, the series when it is asked for */
export type PackedSeries = string | (() => Series);

export interface RunFields {
  readonly trace: string;
  readonly command: string;
  readonly pid: number;
  readonly duration_ns: number;
  readonly threads: number;
  readonly allocation_calls: number;
  readonly free_calls: number;
  readonly failed_calls: number;
  readonly temporary_calls: number;
  readonly allocated_bytes: number;
  readonly usable_bytes: number;
  readonly peak_bytes: number;
  readonly peak_blocks: number;
  readonly control_group?: { readonly limit_bytes?: number; readonly peak_bytes: number; readonly oom_kills: number };
  readonly peak_time_ns: number;
  readonly peak_usable_bytes: number;
  readonly live_blocks_at_end: number;
  readonly live_bytes_at_end: number;
  /** of a sampled recording: the figures with errors are estimates; an error is half of the 95 % interval */
  readonly estimated?: boolean;
  readonly sample_bytes?: number;
  readonly allocation_calls_error?: number;
  readonly allocated_bytes_error?: number;
  readonly temporary_calls_error?: number;
  readonly peak_bytes_error?: number;
  readonly peak_blocks_error?: number;
  readonly live_blocks_at_end_error?: number;
  readonly live_bytes_at_end_error?: number;
  readonly events: number;
  readonly lost_events: number;
  readonly audited_stacks: number;
  readonly audit_differences: number;
  readonly truncated_stacks: number;
  readonly children_unseen: number;
  readonly damaged_chunks: number;
  readonly missing_chunks: number;
  readonly dropped_until_ns: number;
  /** of several processes, of which events were dropped */
  readonly peak_of_kept_events?: boolean;
  readonly lifetimes: Readonly<Record<Lifetime, number>>;
}

export interface ImageFields {
  readonly executable?: string | null;
  readonly directory?: string | null;
  readonly exit_code?: number | null;
  readonly exit_signal?: number | null;
  readonly out_of_memory?: boolean;
  readonly start_realtime_ns?: number | null;
  readonly rss_peak_bytes?: number | null;
  readonly being_written?: boolean;
  readonly from_ns?: number;
  /** of the process that started first, if several are shown together */
  readonly run_command?: string;
  readonly silences?: readonly { readonly from_ns: number; readonly to_ns?: number; readonly why: string }[];
}

export const LIFETIMES = ["temporary", "below_1ms", "below_1s", "below_1min", "1min_or_longer", "until_end"] as const;
export type Lifetime = (typeof LIFETIMES)[number];

export interface ProcessFields {
  readonly pid: number;
  readonly command: string;
  readonly from_ns: number;
  readonly to_ns: number;
  readonly allocation_calls: number;
  readonly allocated_bytes: number;
  readonly share_ppm: number;
  readonly peak_bytes?: number;
}

export interface FindingFields {
  readonly kind: string;
  readonly label: string;
  readonly text: string;
  readonly row?: number | null;
  readonly thread?: string | null;
  /** names of scopes, the outermost first */
  readonly path?: readonly string[];
}

/** Durations of calls; without times if none is known. */
export interface DurationFields {
  readonly calls: number;
  readonly untimed_calls: number;
  readonly total_ns?: number;
  readonly mean_ns?: number;
  readonly p50_ns?: number;
  readonly p90_ns?: number;
  readonly p99_ns?: number;
  readonly p99_9_ns?: number;
  readonly p99_99_ns?: number;
  readonly max_ns?: number;
  /** from, to (both included), calls */
  readonly histogram?: readonly (readonly [number, number, number])[];
}

export interface SlowCallFields {
  readonly entry: string;
  readonly took_ns: number;
  readonly time_ns: number;
  readonly size: number;
  readonly thread: string;
  readonly tid: number;
  readonly stack_of: "call" | "block";
  readonly row?: number;
}

export const ROW_FIGURES = [
  "calls",
  "bytes",
  "temporary_calls",
  "free_calls",
  "failed_calls",
  "peak_bytes",
  "peak_blocks",
  "own_peak_bytes",
  "live_bytes",
  "live_blocks",
  "runtime_live_bytes",
  "runtime_live_blocks",
  "smallest",
  "largest",
  "first_ns",
  "last_ns",
] as const;
export type RowFigure = (typeof ROW_FIGURES)[number];
/** the figures of a row with an error, in a sampled recording */
export const ESTIMATED_FIGURES = ["calls", "bytes", "temporary_calls", "peak_bytes", "peak_blocks", "live_bytes", "live_blocks"] as const;
export type EstimatedFigure = (typeof ESTIMATED_FIGURES)[number];
export type RowError = `${EstimatedFigure}_error`;

export const SIZE_FIGURES = [
  "from",
  "to",
  "cut",
  "calls",
  "bytes",
  "temporary_calls",
  "live_blocks",
  "live_bytes",
  "peak_blocks",
  "peak_bytes",
  "peak_usable_bytes",
  "own_peak_blocks",
  "series_row",
] as const;
export type SizeFigure = (typeof SIZE_FIGURES)[number];

export interface SliceFields {
  readonly peak_slice: number;
  readonly from_ns: readonly number[];
  readonly allocation_calls: readonly number[];
  readonly free_calls: readonly number[];
  readonly failed_calls: readonly number[];
  readonly temporary_calls: readonly number[];
  readonly allocated_bytes: readonly number[];
  readonly live_bytes: readonly number[];
  readonly live_blocks: readonly number[];
  readonly usable_bytes: readonly number[];
  readonly min_bytes: readonly number[];
  readonly max_bytes: readonly number[];
  readonly rss_min_bytes: readonly (number | null)[];
  readonly rss_max_bytes: readonly (number | null)[];
}

export const THREAD_FIGURES = [
  "tid",
  "pid",
  "policy",
  "priority",
  "allocation_calls",
  "free_calls",
  "failed_calls",
  "temporary_calls",
  "allocated_bytes",
  "live_bytes",
  "live_blocks",
  "peak_bytes",
  "own_peak_bytes",
  "foreign_frees",
  "late_allocation_calls",
  "late_free_calls",
  "cut",
] as const;
export type ThreadFigure = (typeof THREAD_FIGURES)[number];
/** of a sampled recording; those of calls and bytes are of the estimates in the series */
export type ThreadError = "calls_error" | "bytes_error" | "temporary_calls_error" | "live_bytes_error" | "live_blocks_error" | "peak_bytes_error";

/** Which thread allocated in which row: for each pair a row, minus the previous one, and a row of `threads`. */
export type PairFields = Readonly<
  Record<"row" | "thread" | "calls" | "bytes" | "temporary_calls", string> &
    Record<"live_bytes" | "live_blocks" | "peak_bytes" | "peak_blocks" | "runtime_live_bytes" | "runtime_live_blocks", string>
> & {
  readonly count: number;
  readonly lifetimes: Readonly<Record<Lifetime, string>>;
  readonly series: string;
};

/** Of a path, with the scopes inside it. */
export const SCOPE_SUMS = [
  "duration_ns",
  "allocation_calls",
  "free_calls",
  "failed_calls",
  "temporary_calls",
  "allocated_bytes",
  "net_bytes",
  "net_blocks",
  "peak_bytes",
  "live_bytes_at_end",
  "live_blocks_at_end",
] as const;
export type ScopeSum = (typeof SCOPE_SUMS)[number];

export type ScopeFigure =
  | "instances"
  | "instances_left_open"
  | "allocating_instances"
  | "last_allocating_instance"
  | "max_duration_ns"
  | "max_net_bytes"
  | ScopeSum
  | `self_${ScopeSum}`;

export type ScopeFields = Readonly<Record<ScopeFigure, string>> & {
  readonly count: number;
  readonly recorded: number;
  readonly name: readonly string[];
  readonly outer: readonly number[];
};

export type InstanceColumn =
  | "begin_ns"
  | "duration_ns"
  | "scope"
  | "sequence"
  | "number"
  | "allocation_calls"
  | "free_calls"
  | "allocated_bytes"
  | "net_bytes"
  | "max_net_bytes"
  | "inside_bytes"
  | "sizes";

export interface LaneFields {
  readonly name: string;
  readonly tid: number;
  readonly thread: number;
  readonly count: number;
}

export type InstanceFields = Readonly<Record<InstanceColumn, string>> & {
  readonly count: number;
  readonly recorded: number;
  readonly lanes: readonly LaneFields[];
  readonly texts: readonly { readonly instance: number; readonly text: string }[];
};

export interface CounterFields {
  readonly name: string;
  readonly sets: number;
  readonly min: number | null;
  readonly max: number | null;
  readonly last: number | null;
  readonly points: readonly { readonly time_ns: number; readonly value: number | null }[];
}

/** The heaps of one name that the program gives out itself. */
export interface HeapFields {
  readonly name: string;
  readonly allocation_calls: number;
  readonly peak_bytes: number;
  readonly live_bytes_at_end: number;
}

export interface PageDocument {
  readonly schema: "heapwright-page/1";
  readonly version: string;
  readonly run: RunFields;
  /** set by the page itself: the row of the chosen thread, if one is chosen */
  readonly thread?: number;
  readonly marks?: readonly { readonly text: string; readonly time_ns: number }[];
  readonly counters?: readonly CounterFields[];
  readonly counters_left_out?: number;
  /** the name of the heap of the program's own that everything is about, instead of malloc */
  readonly heap?: string;
  /** those of the program's own, next to malloc, the largest peak first */
  readonly heaps?: readonly HeapFields[];
  readonly heaps_left_out?: number;
  readonly scopes?: ScopeFields;
  readonly instances?: InstanceFields;
  readonly process: ImageFields;
  /** if nothing was recorded, and what lived at one moment was read from memory; empty: as a trace of that moment has it */
  readonly memory?: MemoryFields | Record<string, never>;
  readonly processes: readonly ProcessFields[];
  readonly processes_left_out?: number;
  /** other processes of the run, each as a document like this one */
  readonly others?: readonly PageDocument[];
  readonly strings: readonly string[];
  readonly modules: { readonly path: readonly number[]; readonly name: readonly number[]; readonly build_id: readonly number[] };
  readonly frames: {
    readonly function: readonly number[];
    readonly file: readonly number[];
    readonly line: readonly number[];
    readonly reason: readonly number[];
    /** for a difference: the same number in both documents is the same function */
    readonly identity?: readonly number[];
  };
  readonly sites: {
    readonly module: readonly number[];
    readonly address: readonly number[];
    readonly frame: readonly number[];
    readonly kind: readonly number[];
    readonly function_start?: readonly number[];
  };
  readonly nodes: { readonly parent: Packed; readonly site: Packed; readonly count: number; readonly recorded: number };
  readonly entries: readonly string[];
  readonly stacks: Readonly<Record<RowFigure | "node" | "cut" | "entry", Packed>> & Readonly<Partial<Record<RowError, Packed>>> & {
    readonly series: PackedSeries;
    readonly lifetimes: Readonly<Record<Lifetime, Packed>>;
    readonly count: number;
    readonly recorded: number;
    readonly kept: number;
  };
  readonly slices: SliceFields;
  readonly timeline: {
    readonly time_ns: Packed;
    readonly live_bytes: Packed;
    readonly live_blocks: Packed;
    readonly max_bytes: Packed;
  };
  readonly rss?: {
    readonly time_ns: readonly number[];
    readonly rss_bytes: readonly number[];
    /** of the control group, if it has a limit; 0: unknown */
    readonly group_bytes?: readonly number[];
    readonly group_limit_bytes?: readonly number[];
  };
  readonly sizes: Readonly<Record<SizeFigure, Packed>>;
  /** `thread`: 0 for all, else the row of threads, plus 1 */
  readonly size_classes?: Readonly<Record<"thread" | "to" | "peak_bytes", Packed>>;
  readonly size_series: { readonly from: readonly number[]; readonly to: readonly number[]; readonly series: PackedSeries };
  readonly threads: Readonly<Record<ThreadFigure, readonly number[]>> & Readonly<Partial<Record<ThreadError, readonly number[]>>> & {
    readonly name: readonly string[];
    readonly series: PackedSeries;
  };
  readonly stack_threads?: PairFields;
  readonly size_threads?: Pick<PairFields, "row" | "thread" | "count" | "series">;
  readonly handovers?: Readonly<Record<"owner" | "freer" | "blocks" | "bytes", readonly number[]>> & {
    readonly series?: PackedSeries;
  };
  readonly findings: readonly FindingFields[];
  readonly durations?: readonly (DurationFields & { readonly entry: string })[];
  readonly durations_of_all?: DurationFields;
  readonly durations_series?: string;
  readonly slowest_calls?: readonly SlowCallFields[];
  readonly durations_by_thread?: readonly Required<Pick<PageDocument, "durations" | "durations_of_all">>[];
  readonly clock_cost_ns?: number;
}

/** Two runs, with a document for each. */
export interface DiffDocument {
  readonly schema: "heapwright-page-diff/1";
  readonly old: PageDocument;
  readonly new: PageDocument;
}
