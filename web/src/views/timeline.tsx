// timeline.tsx - live bytes over time by stack, size or thread, and calls per second
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { sizeSeries, threadSeries, type Series } from "../data/series";
import { errorOfSize } from "../data/errors";
import { rowsMatching } from "../data/matching";
import type { Recording } from "../data/recording";
import { wordsAmong } from "../data/stack_words";
import { CURVES, type Curves } from "../state";
import { bytesText, countText, countedText, errorText, shortCountText } from "../text/format";
import { spanText } from "../text/words";
import { Chart, withErrors, type Curve, type PlotPlace } from "../ui/chart";
import { Choices } from "../ui/choices";
import { useSearch } from "../ui/find";
import { Later } from "../ui/later";
import { HUE_COUNT } from "../ui/palette";
import { Counters } from "./counters";
import { Finding } from "./finding";
import { droppedPart, isWhole, marksOf, RunChart, summed } from "./run_chart";
import { ThreadLanes } from "./thread_lanes";
import { errorOfThread, threadName } from "./threads";
import type { ViewProps } from "./view";

const CURVE_NAMES: Readonly<Record<Curves, string>> = { stacks: "Stacks", sizes: "Block sizes", threads: "Threads" };

interface Part {
  readonly label: string;
  readonly row: number; // of the series; -1: the others
  readonly values: Float64Array;
  /** of bytes of its blocks, if they are estimates */
  readonly error: (bytes: number) => number | undefined;
}

interface Rows {
  readonly series: Series;
  readonly labels: (rows: number[]) => string[];
  /** whether the curves include a row */
  readonly counts: (row: number) => boolean;
  /** whether an included row may have its own curve */
  readonly separate: (row: number) => boolean;
  readonly error: (row: number, bytes: number) => number | undefined;
  /** whether the rows are all of the run */
  readonly isAll: boolean;
}

/** The rows of a series that hold most over the run, and the sum of all others. */
function parts(recording: Recording, { series, labels, counts, separate, error, isAll }: Rows): Part[] {
  const edges = recording.edgesNs.length;
  const steps = new Float64Array(edges);
  const weights = new Float64Array(series.rows);
  for (let row = 0; row < series.rows; row++) {
    if (!counts(row)) continue;
    series.addStepsTo(steps, row, "live_bytes");
    weights[row] = separate(row) ? series.weight(row, "live_bytes", edges) : 0;
  }
  const all = summed(steps);
  if (isAll && isWhole(recording)) recording.dropped((edge, bytes) => (all[edge] = bytes));
  const largest = Array.from(weights.keys()).sort((a, b) => weights[b]! - weights[a]!);
  const shown = largest.slice(0, HUE_COUNT).filter((row) => weights[row]! > 0);
  const names = labels(shown);
  const made = shown.map((row, i): Part => {
    const values = new Float64Array(edges);
    series.addTo(values, row, "live_bytes");
    values.forEach((bytes, edge) => (all[edge]! -= bytes));
    return { label: names[i]!, row, values, error: (bytes) => error(row, bytes) };
  });
  return all.some((bytes) => bytes > 0) ? [...made, { label: "all others", row: -1, values: all, error: (bytes) => recording.errorAtMean("bytes", bytes) }] : made;
}

function partsBy(recording: Recording, by: Curves, kept: Uint8Array | null): Part[] {
  const { size_series: sizes, thread } = recording.document;
  const everyRow = (): boolean => true;
  if (by === "sizes") {
    const label = (row: number): string => {
      const [from, to] = [sizes.from[row]!, sizes.to[row]!];
      return from === to ? bytesText(from) : `${bytesText(from)} – ${bytesText(to)}`;
    };
    return parts(recording, {
      series: sizeSeries(recording.document),
      labels: (rows) => rows.map(label),
      counts: everyRow,
      separate: everyRow,
      error: (row, bytes) => errorOfSize(recording.document.run.sample_bytes, (sizes.from[row]! + sizes.to[row]!) / 2, "bytes", bytes),
      isAll: true,
    });
  }
  if (by === "threads")
    return parts(recording, {
      series: threadSeries(recording.document),
      labels: (rows) => rows.map((row) => threadName(recording, row)),
      counts: (row) => thread === undefined || row === thread,
      separate: everyRow,
      error: (row, bytes) => errorOfThread(recording, row, "bytes", bytes),
      isAll: true,
    });
  return parts(recording, {
    series: recording.series,
    labels: (rows) => {
      const words = wordsAmong(recording, rows);
      return rows.map((row) => words.text(row));
    },
    counts: (row) => kept === null || kept[row] === 1,
    separate: (row) => recording.cutStacks(row) === 0,
    error: (row, bytes) => recording.errorOfPart(row, "bytes", bytes),
    isAll: kept === null && recording.withIgnored === recording,
  });
}

/** A figure of each slice as a rate, at the slice's end. */
function rates(recording: Recording, amounts: readonly number[]): Float64Array {
  const { edgesNs } = recording;
  return edgesNs.map((end, edge) => {
    const slice = Math.max(0, edge - 1);
    const lengthNs = edge === 0 ? edgesNs[1]! : end - edgesNs[slice]!;
    return lengthNs > 0 ? ((amounts[slice] ?? 0) * 1e9) / lengthNs : 0;
  });
}

/** The errors of calls per second, which follow from the calls in a slice. */
function rateErrors(recording: Recording): Pick<Curve, "error"> {
  if (!recording.isSampled) return {};
  const { edgesNs } = recording;
  return {
    error: (rate, edge) => {
      const seconds = (edgesNs[Math.max(1, edge)]! - edgesNs[Math.max(1, edge) - 1]!) / 1e9;
      return seconds > 0 ? errorText("count", rate, recording.errorAtMean("count", rate * seconds)! / seconds) : "";
    },
  };
}

function Rates({ recording, state, change, palette }: ViewProps): JSX.Element {
  const curves = useMemo<Curve[]>(() => {
    const { slices } = recording.document;
    const errors = rateErrors(recording);
    return [
      { label: "Allocations", values: rates(recording, slices.allocation_calls), colour: 0, filled: true, ...errors },
      { label: "Temporary", values: rates(recording, slices.temporary_calls), colour: 1, ...errors },
      { label: "Frees", values: rates(recording, slices.free_calls), colour: 2, ...errors },
    ];
  }, [recording]);
  return (
    <Chart
      name="rates"
      title="Calls per second"
      timesNs={recording.edgesNs}
      edgesNs={recording.edgesNs}
      curves={curves}
      format={(rate) => `${countText(rate)}/s`}
      axisFormat={(rate) => `${shortCountText(rate)}/s`}
      marks={[]}
      dropped={droppedPart(recording, "all")}
      palette={palette}
      height={150}
      span={state.span}
      window={state.window}
      onSpan={(span) => change({ span })}
    />
  );
}

function foundText(kept: Uint8Array): string {
  const count = kept.reduce((sum, hit) => sum + hit, 0);
  return count === 0 ? "no match" : countedText(count, "stack");
}

export function Timeline(props: ViewProps): JSX.Element {
  const { recording, state, change, palette } = props;
  const search = useSearch(state.find);
  const byStacks = state.curves === "stacks";
  const kept = useMemo(() => (byStacks ? rowsMatching(recording, search) : null), [recording, search, byStacks]);
  const shown = useMemo(() => partsBy(recording, state.curves, kept), [recording, state.curves, kept]);
  const curves = useMemo(
    () => shown.map((part, i): Curve => ({ label: part.label, values: part.values, colour: part.row < 0 ? -1 : i, ...(recording.isSampled && withErrors("bytes", part.error)) })),
    [shown],
  );
  const marks = useMemo(() => marksOf(recording), [recording]);
  const [plot, setPlot] = useState<PlotPlace>({ left: 0, width: 0 });
  const open = (index: number): void => {
    const row = shown[index]?.row ?? -1;
    if (row < 0) return;
    if (state.curves === "stacks") change({ view: "flame", mode: "icicle", zoom: recording.tree.nodeOfRow[row]! });
    else change({ view: state.curves, row: state.curves === "sizes" ? recording.document.size_series.from[row]! : row });
  };
  return (
    <div class="stack-v">
      <div class="toolbar">
        <Choices
          label="Stacked by"
          choices={CURVES.map((by) => [by, CURVE_NAMES[by]])}
          chosen={state.curves}
          onChoose={(by) => change({ curves: by })}
        />
        {byStacks && <Finding {...{ state, change }} result={kept === null ? "" : foundText(kept)} />}
        <span class="faint">
          {state.span === null
            ? "Drag over a chart for an interval, click for a moment: every view follows."
            : spanText(recording, state.span)}
        </span>
      </div>
      <Chart
        name={`live-by-${state.curves}`}
        title={`Live bytes by ${CURVE_NAMES[state.curves].toLowerCase()}${kept === null ? "" : ": matching stacks only"}`}
        timesNs={recording.edgesNs}
        edgesNs={recording.edgesNs}
        curves={curves}
        stacked
        format={bytesText}
        marks={marks}
        dropped={droppedPart(recording, kept === null ? "stacks" : "living")}
        palette={palette}
        height={300}
        span={state.span}
        window={state.window}
        onPlace={(now) => (now.left === plot.left && now.width === plot.width ? undefined : setPlot(now))}
        onSpan={(span) => change({ span })}
        onCurve={open}
      />
      <Counters {...props} />
      <Later room={<div class="tall" />}>
        <ThreadLanes {...props} plot={plot} />
        <Rates {...props} />
        <RunChart {...props} window={state.window} />
      </Later>
    </div>
  );
}
