// thread.ts - reduces a recording to the allocations of one thread, so that every view can show a thread
//
// pair       a row of `stacks`, or of the sizes' series, and a thread that allocated some of it. If a row has only one
//            thread, the row's series is the thread's; otherwise the document has a series for each pair.
import { ESTIMATED_FIGURES, LIFETIMES, ROW_FIGURES } from "./document";
import type { EstimatedFigure, Lifetime, PageDocument, PairFields, RowError, RowFigure, SizeFigure } from "./document";
import { cachedFor } from "./cached";
import { unpack } from "./packed";
import { errorOfSum } from "./errors";
import { Recording } from "./recording";
import { ENDED, handoverSeries, Series, sizeSeries, threadSeries, type Amount } from "./series";

/** By row: the index of the thread's pair, or -1 if there is none, and whether the row has no other thread. */
interface Pairs {
  readonly of: Int32Array;
  readonly alone: Uint8Array;
}

function pairsOf(fields: Pick<PairFields, "row" | "thread">, rows: number, thread: number): Pairs {
  const [of, alone, threads] = [new Int32Array(rows).fill(-1), new Uint8Array(rows), new Uint16Array(rows)];
  const owners = unpack(fields.thread);
  let row = 0;
  unpack(fields.row).forEach((step, pair) => {
    row += step;
    threads[row]!++;
    if (owners[pair] === thread) of[row] = pair;
  });
  of.forEach((pair, at) => (alone[at] = Number(pair >= 0 && threads[at] === 1)));
  return { of, alone };
}

function seriesOf({ of, alone }: Pairs, whole: Series, shared: Series): Series {
  return Series.joined(of.length, (row) => (of[row]! < 0 ? null : alone[row] === 1 ? [whole, row] : [shared, of[row]!]));
}

const sharedStacks = cachedFor((document: PageDocument) => new Series(document.stack_threads!.series, document.stack_threads!.count));
const sharedSizes = cachedFor((document: PageDocument) => new Series(document.size_threads!.series, document.size_threads!.count));

/**
 * The columns of `stacks`. Values that are not known for a part of a stack (its start, its own maximum) are the
 * stack's.
 */
function columnsOf(whole: Recording, pairs: PairFields, { of, alone }: Pairs): Record<RowFigure, Float64Array> {
  const made: Partial<Record<RowFigure, Float64Array>> = {};
  for (const figure of ROW_FIGURES) {
    const column = whole.column(figure);
    const parts = figure in pairs ? unpack(pairs[figure as keyof PairFields] as string) : column;
    const isWhole = (row: number): boolean => alone[row] === 1 || parts === column;
    made[figure] = column.map((amount, row) => (of[row]! < 0 ? 0 : isWhole(row) ? amount : parts[of[row]!]!));
  }
  return made as Record<RowFigure, Float64Array>;
}

/** A thread's part of a row has its share of the square of the row's error. */
function errorsOf(whole: Recording, columns: Record<RowFigure, Float64Array>): Partial<Record<RowError, Float64Array>> {
  const made: Partial<Record<RowError, Float64Array>> = {};
  for (const figure of whole.isSampled ? ESTIMATED_FIGURES : []) {
    const all = whole.column(figure);
    const share = (row: number): number => (all[row]! > 0 ? columns[figure][row]! / all[row]! : 0);
    made[`${figure}_error`] = whole.column(`${figure}_error`).map((error, row) => error * Math.sqrt(share(row)));
  }
  return made;
}

function lifetimesOf(pairs: PairFields, { of }: Pairs): Record<Lifetime, Float64Array> {
  const made: Partial<Record<Lifetime, Float64Array>> = {};
  for (const lifetime of LIFETIMES) {
    const parts = unpack(pairs.lifetimes[lifetime]);
    made[lifetime] = Float64Array.from(of, (pair) => (pair < 0 ? 0 : parts[pair]!));
  }
  return made as Record<Lifetime, Float64Array>;
}

/** Sizes are those that the document follows over time; the peak is at an edge. */
function sizesOf({ document }: Recording, series: Series): Record<SizeFigure, Float64Array> {
  const { from, to } = document.size_series;
  const end = document.slices.from_ns.length;
  const peak = document.slices.peak_slice + 1;
  const rows = from.map((_size, row) => row).filter((row) => series.until(row, "calls", end) > 0);
  const column = (of: (row: number) => number): Float64Array => Float64Array.from(rows, of);
  const peakBytes = column((row) => series.until(row, "live_bytes", peak));
  return {
    from: column((row) => from[row]!),
    to: column((row) => to[row]!),
    cut: column((row) => Number(from[row] !== to[row])),
    calls: column((row) => series.until(row, "calls", end)),
    bytes: column((row) => series.until(row, "bytes", end)),
    temporary_calls: column((row) => series.until(row, "temporary", end)),
    live_blocks: column((row) => series.until(row, "live_blocks", end)),
    live_bytes: column((row) => series.until(row, "live_bytes", end)),
    peak_blocks: column((row) => series.until(row, "live_blocks", peak)),
    peak_bytes: peakBytes,
    peak_usable_bytes: peakBytes,
    own_peak_blocks: column(() => 0),
    series_row: column((row) => row),
  };
}

/** The run over time: the maximum and minimum of a slice are taken from its two edges. */
function slicesOf({ document }: Recording, series: Series, thread: number): Pick<PageDocument, "slices" | "timeline" | "rss"> {
  const { slices, run } = document;
  const each = <T>(of: (slice: number) => T): T[] => slices.from_ns.map((_ns, slice) => of(slice));
  const within = (amount: Amount) => (slice: number) =>
    series.until(thread, amount, slice + 1) - series.until(thread, amount, slice);
  const edgesNs = [...slices.from_ns, run.duration_ns];
  const live = Float64Array.from(edgesNs, (_ns, edge) => series.until(thread, "live_bytes", edge));
  const none = each(() => null);
  return {
    slices: {
      ...slices,
      allocation_calls: each(within("calls")),
      free_calls: each((slice) => ENDED.reduce((sum, lifetime) => sum + within(lifetime)(slice), 0)),
      failed_calls: each(() => 0),
      temporary_calls: each(within("temporary")),
      allocated_bytes: each(within("bytes")),
      live_bytes: each((slice) => live[slice + 1]!),
      live_blocks: each((slice) => series.until(thread, "live_blocks", slice + 1)),
      usable_bytes: each(() => 0),
      min_bytes: each((slice) => Math.min(live[slice]!, live[slice + 1]!)),
      max_bytes: each((slice) => Math.max(live[slice]!, live[slice + 1]!)),
      rss_min_bytes: none,
      rss_max_bytes: none,
    },
    timeline: {
      time_ns: Float64Array.from(edgesNs, (ns, edge) => ns - (edgesNs[edge - 1] ?? 0)),
      live_bytes: live,
      live_blocks: Float64Array.from(edgesNs, (_ns, edge) => series.until(thread, "live_blocks", edge)),
      max_bytes: live,
    },
    rss: { time_ns: [], rss_bytes: [] },
  };
}

function runErrorsOf({ run, threads }: PageDocument, thread: number, errors: Partial<Record<RowError, Float64Array>>): Partial<PageDocument["run"]> {
  if (errors.calls_error === undefined) return {};
  const sum = (figure: EstimatedFigure): number => errorOfSum(errors[`${figure}_error`]!.map((error) => error * error))!;
  return {
    ...(run.allocation_calls_error !== undefined && {
      allocation_calls_error: threads.calls_error![thread]!,
      allocated_bytes_error: threads.bytes_error![thread]!,
    }),
    temporary_calls_error: threads.temporary_calls_error![thread]!,
    peak_bytes_error: threads.peak_bytes_error![thread]!,
    peak_blocks_error: sum("peak_blocks"),
    live_bytes_at_end_error: threads.live_bytes_error![thread]!,
    live_blocks_at_end_error: threads.live_blocks_error![thread]!,
  };
}

function runOf(
  { run, threads }: PageDocument,
  thread: number,
  stacks: Record<RowFigure, Float64Array>,
  lifetimes: Record<Lifetime, Float64Array>,
): PageDocument["run"] {
  const sum = (column: Float64Array): number => column.reduce((all, part) => all + part, 0);
  const steps: Partial<Record<Lifetime, number>> = {};
  for (const lifetime of LIFETIMES) steps[lifetime] = sum(lifetimes[lifetime]);
  return {
    ...run,
    allocation_calls: threads.allocation_calls[thread]!,
    free_calls: threads.free_calls[thread]!,
    failed_calls: threads.failed_calls[thread]!,
    temporary_calls: threads.temporary_calls[thread]!,
    allocated_bytes: threads.allocated_bytes[thread]!,
    peak_bytes: threads.peak_bytes[thread]!,
    peak_blocks: sum(stacks.peak_blocks),
    live_bytes_at_end: threads.live_bytes[thread]!,
    live_blocks_at_end: threads.live_blocks[thread]!,
    lifetimes: steps as Record<Lifetime, number>,
  };
}

function durationsOf({ durations_by_thread, slowest_calls = [], threads }: PageDocument, thread: number): Partial<PageDocument> {
  const found = durations_by_thread?.[thread];
  if (found === undefined) return {};
  const own = slowest_calls.filter((call) => call.tid === threads.tid[thread] && call.thread === threads.name[thread]);
  return { durations: found.durations, durations_of_all: found.durations_of_all, slowest_calls: own };
}

function handoversOf(document: PageDocument, thread: number): Partial<PageDocument> {
  const { handovers } = document;
  if (handovers === undefined) return {};
  const { owner, freer, blocks, bytes } = handovers;
  const kept = [...owner.keys()].filter((pair) => owner[pair] === thread || freer[pair] === thread);
  const of = (column: readonly number[]): number[] => kept.map((pair) => column[pair]!);
  const series = (): Series => {
    const whole = handoverSeries(document);
    return Series.joined(kept.length, (row) => [whole, kept[row]!]);
  };
  return { handovers: { owner: of(owner), freer: of(freer), blocks: of(blocks), bytes: of(bytes), series } };
}

/** `thread` must exist, in a recording with several threads. */
export function ofThread(whole: Recording, thread: number): Recording {
  const { document } = whole;
  const { stack_threads: stackPairs, size_threads: sizePairs, stacks, size_series, threads } = document;
  if (stackPairs === undefined || sizePairs === undefined || thread < 0 || thread >= threads.tid.length) return whole;
  const pairs = pairsOf(stackPairs, whole.rows, thread);
  const columns = columnsOf(whole, stackPairs, pairs);
  const errors = errorsOf(whole, columns);
  const lifetimes = lifetimesOf(stackPairs, pairs);
  const wholeSizes = sizeSeries(document);
  const sizes = seriesOf(pairsOf(sizePairs, wholeSizes.rows, thread), wholeSizes, sharedSizes(document));
  const made: PageDocument = {
    ...document,
    ...slicesOf(whole, threadSeries(document), thread),
    ...durationsOf(document, thread),
    ...handoversOf(document, thread),
    thread,
    run: { ...runOf(document, thread, columns, lifetimes), ...runErrorsOf(document, thread, errors) },
    stacks: { ...stacks, ...columns, ...errors, lifetimes, series: () => seriesOf(pairs, whole.series, sharedStacks(document)) },
    sizes: sizesOf(whole, sizes),
    size_series: { ...size_series, series: () => sizes },
    findings: document.findings.filter(
      ({ row, thread: name }) => name === threads.name[thread] || (typeof row === "number" && columns.calls[row]! > 0),
    ),
  };
  return new Recording(made, whole.tree);
}
