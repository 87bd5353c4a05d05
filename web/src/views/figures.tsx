// figures.tsx - the figures of the run, or of the chosen part of it
import type { JSX } from "preact";
import type { PageDocument, RunFields } from "../data/document";
import { sumIn, type Recording } from "../data/recording";
import { isMoment, type Span } from "../state";
import { byteRateText, bytesText, countText, countedText, errorText, rateText, shareText } from "../text/format";
import { timeIn } from "../text/words";
import { FigureList, type Figure } from "../ui/figure_list";
import { togetherCount } from "./processes";

function heapOfRss(peakBytes: number, rssBytes: number): string {
  return peakBytes === 0 ? "no block was live" : `the heap is ${shareText(peakBytes, rssBytes)} of it`;
}

function blocksFigure(name: string, blocks: number, bytes: number): Figure {
  return {
    name,
    value: countText(blocks),
    note: blocks === 0 ? "none" : `${bytesText(bytes / blocks)} on average`,
  };
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
}

function failedText(failed: number | null): string {
  if (failed === null) return "of its blocks, by any thread";
  if (failed === 0) return "no failed calls";
  return failed === 1 ? "1 failed call" : `${countText(failed)} failed calls`;
}

function callFigures({ allocations, bytes, temporary, frees, failed, lengthNs }: Calls): Figure[] {
  return [
    { name: "Allocations", value: countText(allocations), note: rateText(allocations, lengthNs) },
    { name: "Allocated", value: bytesText(bytes), note: byteRateText(bytes, lengthNs) },
    { name: "Temporary", value: countText(temporary), note: `${shareText(temporary, allocations) || "none"} of calls` },
    { name: "Frees", value: countText(frees), note: failedText(failed) },
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
  const ofPeak = `${shareText(end, document.run.peak_bytes) || "none"} of the peak`; // for a thread it may exceed 100 %
  const states: Figure[] = isMoment(span)
    ? [
        { name: "Live bytes", value: bytesText(end), note: thread === undefined ? ofPeak : "" },
        blocksFigure("Live blocks", blocksAt(to), end),
        { name: "Peak so far", value: bytesText(peak), note: "the highest so far" },
      ]
    : [
        { name: "Peak", value: bytesText(peak), note: "the highest in the interval" },
        { name: "At the start", value: bytesText(start), note: countedText(blocksAt(first), "block") },
        { name: "At the end", value: bytesText(end), note: countedText(blocksAt(to), "block") },
      ];
  const calls: Calls = {
    allocations: sumIn(slices.allocation_calls, edges),
    bytes: sumIn(slices.allocated_bytes, edges),
    temporary: sumIn(slices.temporary_calls, edges),
    frees: sumIn(slices.free_calls, edges),
    failed: thread === undefined ? sumIn(slices.failed_calls, edges) : null,
    lengthNs: edgesNs[to]! - edgesNs[first]!,
  };
  const rss = sampledRss(document, edgesNs[first]!, edgesNs[to]!);
  return [...states, ...callFigures(calls), rssFigure(document, rss, "from samples")];
}

/** In a sampled recording, an estimate has its error as its note. */
function withErrors(figures: readonly Figure[], run: RunFields): Figure[] {
  const errors: Readonly<Record<string, string>> = {
    Peak: errorText(run.peak_bytes_error, bytesText),
    "Blocks at peak": errorText(run.peak_blocks_error, countText),
    "At the end": errorText(run.live_bytes_at_end_error, bytesText),
    Allocations: errorText(run.allocation_calls_error, countText),
    Allocated: errorText(run.allocated_bytes_error, bytesText),
    Temporary: errorText(run.temporary_calls_error, countText),
  };
  return figures.map((figure) => {
    const note = errors[figure.name];
    return note === undefined || note === "" ? figure : { ...figure, note };
  });
}

function figuresOf(recording: Recording, span: Span | null): Figure[] {
  if (span !== null) return figuresWithin(recording, span);
  const { document } = recording;
  const { run, thread } = document;
  const rss = rssOf(recording);
  const figures: Figure[] = [
    {
      name: thread === undefined ? "Peak" : "At the run's peak",
      value: bytesText(run.peak_bytes),
      note: run.peak_bytes === 0 ? "nothing was live" : `at ${timeIn(recording, run.peak_time_ns)}`,
    },
    blocksFigure("Blocks at peak", run.peak_blocks, run.peak_bytes),
    { name: "At the end", value: bytesText(run.live_bytes_at_end), note: `${countedText(run.live_blocks_at_end, "block")} left` },
    ...callFigures({
      allocations: run.allocation_calls,
      bytes: run.allocated_bytes,
      temporary: run.temporary_calls,
      frees: run.free_calls,
      failed: run.failed_calls,
      lengthNs: run.duration_ns,
    }),
    rssFigure(document, rss, document.heap === undefined ? heapOfRss(run.peak_bytes, rss) : "of the whole process"),
    ...groupFigures(document),
  ];
  return thread === undefined ? withErrors(figures, run) : figures;
}

export function Figures({ recording, span }: { recording: Recording; span: Span | null }): JSX.Element {
  return <FigureList figures={figuresOf(recording, span)} />;
}
