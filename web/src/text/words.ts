// words.ts - names and phrases that several views use
import type { Recording } from "../data/recording";
import { isMoment, type Cost, type Span, type View } from "../state";
import { momentText } from "./format";

export const VIEW_NAMES: Readonly<Record<View, string>> = {
  overview: "Overview",
  timeline: "Timeline",
  flame: "Flame graph",
  scopes: "Scopes",
  leaks: "Leaks",
  sizes: "Sizes",
  threads: "Threads",
  lifetimes: "Lifetimes",
  durations: "Durations",
};

export const COST_NAMES: Readonly<Record<Cost, string>> = {
  peak: "Peak",
  live: "At end",
  calls: "Calls",
  bytes: "Allocated",
  temporary: "Temporary",
};

export function isBytes(cost: Cost): boolean {
  return cost === "peak" || cost === "live" || cost === "bytes";
}

/** A moment, to the microsecond or, where it is short enough, nearer: 135.814 ms */
export function momentIn(ns: number): string {
  return momentText(ns, ns < 1e6 ? 1 : ns < 1e10 ? 1e3 : 1e6);
}

/** A moment of a recording, with the precision of its slices. */
export function timeIn(recording: Recording, ns: number): string {
  return momentText(ns, recording.document.run.duration_ns / 1000);
}

export function spanText(recording: Recording, span: Span): string {
  const until = timeIn(recording, span.toNs);
  return isMoment(span) ? `at ${until}` : `${timeIn(recording, span.fromNs)} – ${until}`;
}

/** The time over which figures are summed up: "until 2.48 s". */
export function sumText(recording: Recording, span: Span): string {
  return isMoment(span) ? `until ${timeIn(recording, span.toNs)}` : spanText(recording, span);
}

/** What a cost means for the interval that is shown: "live at 2.48 s". */
export function costText(recording: Recording, cost: Cost, span: Span | null): string {
  if (recording.document.memory !== undefined) return "live";
  if (span === null) {
    const words = { peak: "live at the peak", live: "live at the end", calls: "allocations", bytes: "allocated" };
    return cost === "temporary" ? "temporary allocations" : words[cost];
  }
  const edges = recording.edgesOf(span);
  if (cost === "live") return `live at ${timeIn(recording, span.toNs)}`;
  if (cost === "peak") return `live at ${timeIn(recording, recording.edgesNs[recording.highest(edges)]!)}, the highest in the interval`;
  const what = { calls: "allocations", bytes: "allocated", temporary: "temporary allocations" }[cost];
  return edges.from === edges.to ? `${what} until ${timeIn(recording, span.toNs)}` : `${what} in the interval`;
}
