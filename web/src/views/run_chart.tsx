// run_chart.tsx - live bytes over the run, with resident and usable bytes, and a mark at the peak
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { PageDocument } from "../data/document";
import { unpack } from "../data/packed";
import { nearest, type Recording } from "../data/recording";
import type { Span } from "../state";
import { bytesText, estimateText } from "../text/format";
import { Chart, withErrors, type Curve } from "../ui/chart";
import type { Dropped, Mark } from "../ui/chart_marks";
import { togetherCount } from "./processes";
import type { ViewProps } from "./view";

/** Running sums of differences. */
export function summed(steps: Float64Array): Float64Array {
  let sum = 0;
  return steps.map((step) => (sum += step));
}

const SLACK_SHOWN = 1.03; // if usable and requested bytes are nearly equal, two curves would only blur

const LIMIT_SHARE = 10; // the limit of a control group is shown if more than a tenth of it is used

const RSS_OWN_AXIS = 3; // a resident set larger than this many times the heap's peak would flatten the heap's curve

/** The largest sample at each of the chart's times. */
function sampledAt(timesNs: Float64Array, sampledNs: readonly number[], samples: readonly number[]): (number | null)[] {
  const values = new Array<number | null>(timesNs.length).fill(null);
  sampledNs.forEach((time, i) => {
    const at = nearest(timesNs, time);
    if (samples[i]! > 0) values[at] = Math.max(values[at] ?? 0, samples[i]!);
  });
  return values;
}

/** A limit that is far away would flatten all curves. */
function isNearLimit({ group_bytes = [], group_limit_bytes = [] }: NonNullable<PageDocument["rss"]>): boolean {
  return group_bytes.some((bytes, i) => group_limit_bytes[i]! > 0 && LIMIT_SHARE * bytes > group_limit_bytes[i]!);
}

/** The errors of a curve of live bytes of all rows. */
export function liveErrors(recording: Recording): Pick<Curve, "error"> {
  return withErrors("bytes", recording.isSampled ? (bytes) => recording.errorAtMean("bytes", bytes) : undefined);
}

interface RunCurves {
  readonly timesNs: Float64Array;
  readonly curves: readonly Curve[];
}

function runCurves(recording: Recording): RunCurves {
  const { run, timeline, slices, rss } = recording.document;
  const timesNs = summed(unpack(timeline.time_ns));
  const errors = liveErrors(recording);
  const curves: Curve[] = [{ label: "Live", values: unpack(timeline.max_bytes), colour: 0, filled: true, ...errors }];
  if (slices.usable_bytes.some((bytes, slice) => bytes > SLACK_SHOWN * slices.live_bytes[slice]! && bytes > 0.1 * run.peak_bytes)) {
    const values = new Array<number | null>(timesNs.length).fill(null);
    slices.usable_bytes.forEach((bytes, slice) => {
      const isKnown = bytes > 0 || slices.live_bytes[slice] === 0;
      if (isKnown) values[nearest(timesNs, recording.edgesNs[slice + 1]!)] = bytes;
    });
    curves.push({ label: "Usable", values, colour: 2, sampled: "held", dashed: true, ...errors });
  }
  if (rss !== undefined && rss.time_ns.length > 0) {
    const group = isNearLimit(rss) ? rss.group_bytes! : [];
    const limits = isNearLimit(rss) ? rss.group_limit_bytes! : [];
    const hasOwnAxis = Math.max(...rss.rss_bytes, ...limits) > RSS_OWN_AXIS * run.peak_bytes;
    const add = (name: string, samples: readonly number[], colour: number): void => {
      if (samples.length === 0) return;
      const label = hasOwnAxis ? `${name} (axis on the right)` : name;
      curves.push({ label, values: sampledAt(timesNs, rss.time_ns, samples), colour, sampled: "joined", hasOwnAxis, dashed: hasOwnAxis });
    };
    add("RSS", rss.rss_bytes, 3);
    add("Control group", group, 4);
    add("Its limit", limits, -1);
  }
  return { timesNs, curves };
}

export function marksOf(recording: Recording): Mark[] {
  const { run, marks = [] } = recording.document;
  const all = marks.map((mark) => ({ timeNs: mark.time_ns, label: mark.text }));
  if (run.peak_bytes > 0) all.push({ timeNs: run.peak_time_ns, label: `peak ${estimateText("bytes", run.peak_bytes, run.peak_bytes_error)}` });
  return all.sort((a, b) => a.timeNs - b.timeNs);
}

/** Whether the slices are known for the dropped part of the run: not of a thread, or of several processes. */
export function isWhole({ document }: Recording): boolean {
  return document.thread === undefined && togetherCount(document) <= 1;
}

const DROPPED = {
  all: "events dropped: totals along time",
  stacks: "events dropped: parts only of what lives on",
  living: "events dropped: only what lives on",
} as const;

/** The part of the run whose events were dropped, and what a chart shows of it; undefined: all events are there. */
export function droppedPart(recording: Recording, shows: keyof typeof DROPPED): Dropped | undefined {
  const { dropped_until_ns: untilNs } = recording.document.run;
  return untilNs > 0 ? { untilNs, label: DROPPED[isWhole(recording) ? shows : "living"] } : undefined;
}

interface Props extends ViewProps {
  readonly small?: boolean;
  /** the part of the run that is drawn; absent: all of it */
  readonly window?: Span | null;
}

export function RunChart({ recording, state, change, palette, small, window = null }: Props): JSX.Element {
  const { timesNs, curves } = useMemo(() => {
    const made = runCurves(recording);
    return small ? { ...made, curves: made.curves.slice(0, 1) } : made;
  }, [recording, small]);
  const marks = useMemo(() => (small ? [] : marksOf(recording)), [recording, small]);
  return (
    <Chart
      name="live"
      title="Live bytes over time"
      timesNs={timesNs}
      edgesNs={recording.edgesNs}
      curves={curves}
      format={bytesText}
      marks={marks}
      dropped={droppedPart(recording, "all")}
      palette={palette}
      height={small ? 72 : 260}
      span={state.span}
      window={window}
      onSpan={(span) => change({ span })}
    />
  );
}
