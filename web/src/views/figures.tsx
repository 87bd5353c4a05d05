// figures.tsx - the figures of the run, or of the chosen part of it
import type { JSX } from "preact";
import type { PageDocument } from "../data/document";
import { errorOfSum } from "../data/errors";
import { sumIn, type Recording } from "../data/recording";
import { isMoment, type Cost, type Span } from "../state";
import { amountText, byteRateText, bytesText, countText, countedText, errorText, rateText, shareText, type Kind } from "../text/format";
import { isBytes, timeIn } from "../text/words";
import { FigureList, type Figure } from "../ui/figure_list";
import { togetherCount } from "./processes";

function heapOfRss(peakBytes: number, rssBytes: number): string {
  return peakBytes === 0 ? "no block was live" : `the heap is ${shareText(peakBytes, rssBytes)} of it`;
}

/** A figure with its error, if it is an estimate. */
function estimate(name: string, kind: Kind, amount: number, error: number | undefined, note: string): Figure {
  return { name, value: amountText(kind, amount), error: errorText(kind, amount, error), note };
}

function blocksFigure(name: string, blocks: number, error: number | undefined, bytes: number): Figure {
  return estimate(name, "count", blocks, error, blocks === 0 ? "none" : `${bytesText(bytes / blocks)} on average`);
}

function rssFigure({ thread }: PageDocument, rssBytes: number, note: string): Figure {
  const name = "Peak RSS";
  if (thread !== undefined) return { name, value: "–", note: "known only for a process" };
  return { name, value: rssBytes > 0 ? bytesText(rssBytes) : "–", note: rssBytes > 0 ? note : "not sampled" };
}

/** The largest sample between two moments. */
function sampledRss({ rss = { time_ns: [], rss_bytes: [] } }: PageDocument, fromNs: number, toNs: number): number {
  return Math.max(0, ...rss.rss_bytes.filter((_bytes, i) => fromNs <= rss.time_ns[i]! && rss.time_ns[i]! <= toNs));
}

/** The peak RSS is recorded for one process; for several together it comes from their samples. */
function rssOf({ document }: Recording): number {
  return togetherCount(document) > 1 ? sampledRss(document, 0, Infinity) : (document.process.rss_peak_bytes ?? 0);
}

/** How near the processes came to the limit of their control group, if it has one. */
function groupFigures({ run: { control_group: group } }: PageDocument): Figure[] {
  if (group === undefined || (group.limit_bytes === undefined && group.oom_kills === 0)) return [];
  const kills = group.oom_kills > 0 ? `; ${countText(group.oom_kills)} killed when memory ran out` : "";
  const limit = group.limit_bytes === undefined ? "no limit" : `of its limit of ${bytesText(group.limit_bytes)}`;
  return [{ name: "Control group", value: bytesText(group.peak_bytes), note: limit + kills }];
}

/** Calls within some time. */
interface Calls {
  readonly allocations: number;
  readonly bytes: number;
  readonly temporary: number;
  readonly frees: number;
  /** null: unknown; then `frees` are of the thread's blocks, by any thread */
  readonly failed: number | null;
  readonly lengthNs: number;
  /** of those that are estimates */
  readonly errors: Readonly<Partial<Record<"allocations" | "bytes" | "temporary" | "frees", number | undefined>>>;
}

function failedText(failed: number | null): string {
  if (failed === null) return "of its blocks, by any thread";
  if (failed === 0) return "no failed calls";
  return failed === 1 ? "1 failed call" : `${countText(failed)} failed calls`;
}

function callFigures({ allocations, bytes, temporary, frees, failed, lengthNs, errors }: Calls): Figure[] {
  return [
    estimate("Allocations", "count", allocations, errors.allocations, rateText(allocations, lengthNs)),
    estimate("Allocated", "bytes", bytes, errors.bytes, byteRateText(bytes, lengthNs)),
    estimate("Temporary", "count", temporary, errors.temporary, `${shareText(temporary, allocations) || "none"} of calls`),
    estimate("Frees", "count", frees, errors.frees, failedText(failed)),
  ];
}

/** The figures within an interval, or until a moment. */
function figuresWithin(recording: Recording, span: Span): Figure[] {
  const { document, edgesNs } = recording;
  const { slices } = document;
  const edges = recording.edgesOf(span);
  const { since: first, to } = edges;
  const { thread } = document;
  const blocksAt = (edge: number): number => (edge === 0 ? 0 : slices.live_blocks[edge - 1]!);
  const [start, end] = [recording.liveAt(first), recording.liveAt(to)];
  const peak = Math.max(start, ...slices.max_bytes.slice(first, to));
  const all = recording.withIgnored; // as in the slices
  const hasRows = edgesNs[first]! >= document.run.dropped_until_ns; // else only sums are known
  const errorOf = (cost: Cost, amount: number): number | undefined =>
    hasRows ? errorOfSum(all.squares(cost, span)) : all.errorAtMean(isBytes(cost) ? "bytes" : "count", amount);
  const errorAt = (kind: Kind, figure: "live_bytes" | "live_blocks", edge: number, amount: number): number | undefined =>
    hasRows ? errorOfSum(all.squaresOf(kind, all.rowsAt(figure, edge))) : all.errorAtMean(kind, amount);
  const bytesErrorAt = (edge: number): number | undefined => errorAt("bytes", "live_bytes", edge, recording.liveAt(edge));
  const blocksErrorAt = (edge: number): number | undefined => errorAt("count", "live_blocks", edge, blocksAt(edge));
  const blocksTextAt = (edge: number): string => countedText(blocksAt(edge), "block", blocksErrorAt(edge));
  const ofPeak = `${shareText(end, document.run.peak_bytes) || "none"} of the peak`; // for a thread it may exceed 100 %
  const states: Figure[] = isMoment(span)
    ? [
        estimate("Live bytes", "bytes", end, bytesErrorAt(to), thread === undefined ? ofPeak : ""),
        blocksFigure("Live blocks", blocksAt(to), blocksErrorAt(to), end),
        estimate("Peak so far", "bytes", peak, all.errorAtMean("bytes", peak), "the highest so far"),
      ]
    : [
        estimate("Peak", "bytes", peak, errorOf("peak", peak), "the highest in the interval"),
        estimate("At the start", "bytes", start, bytesErrorAt(first), blocksTextAt(first)),
        estimate("At the end", "bytes", end, bytesErrorAt(to), blocksTextAt(to)),
      ];
  const frees = sumIn(slices.free_calls, edges);
  const [allocations, bytes, temporary] = [sumIn(slices.allocation_calls, edges), sumIn(slices.allocated_bytes, edges), sumIn(slices.temporary_calls, edges)];
  const calls: Calls = {
    allocations,
    bytes,
    temporary,
    frees,
    failed: thread === undefined ? sumIn(slices.failed_calls, edges) : null,
    lengthNs: edgesNs[to]! - edgesNs[first]!,
    errors: {
      allocations: errorOf("calls", allocations),
      bytes: errorOf("bytes", bytes),
      temporary: errorOf("temporary", temporary),
      frees: all.errorAtMean("count", frees),
    },
  };
  const rss = sampledRss(document, edgesNs[first]!, edgesNs[to]!);
  return [...states, ...callFigures(calls), rssFigure(document, rss, "from samples")];
}

function figuresOf(recording: Recording, span: Span | null): Figure[] {
  if (span !== null) return figuresWithin(recording, span);
  const { document } = recording;
  const { run, thread } = document;
  const rss = rssOf(recording);
  const isExact = run.allocation_calls_error === undefined; // all calls are counted
  const peakNote = run.peak_bytes === 0 ? "nothing was live" : `at ${timeIn(recording, run.peak_time_ns)}`;
  const left = countedText(run.live_blocks_at_end, "block", run.live_blocks_at_end_error);
  return [
    estimate(thread === undefined ? "Peak" : "At the run's peak", "bytes", run.peak_bytes, run.peak_bytes_error, peakNote),
    blocksFigure("Blocks at peak", run.peak_blocks, run.peak_blocks_error, run.peak_bytes),
    estimate("At the end", "bytes", run.live_bytes_at_end, run.live_bytes_at_end_error, `${left} left`),
    ...callFigures({
      allocations: run.allocation_calls,
      bytes: run.allocated_bytes,
      temporary: run.temporary_calls,
      frees: run.free_calls,
      failed: run.failed_calls,
      lengthNs: run.duration_ns,
      errors: {
        allocations: run.allocation_calls_error,
        bytes: run.allocated_bytes_error,
        temporary: run.temporary_calls_error,
        frees: isExact ? undefined : recording.errorAtMean("count", run.free_calls),
      },
    }),
    rssFigure(document, rss, document.heap === undefined ? heapOfRss(run.peak_bytes, rss) : "of the whole process"),
    ...groupFigures(document),
  ];
}

export function Figures({ recording, span }: { recording: Recording; span: Span | null }): JSX.Element {
  return <FigureList figures={figuresOf(recording, span)} />;
}
