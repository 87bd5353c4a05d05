// growth.tsx - which stacks hold more at the end of an interval than at its start, and what happens at present
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { errorAt, errorOfSum } from "../data/errors";
import { sumIn, type Recording } from "../data/recording";
import { isMoment, NOW, type Span } from "../state";
import { byteRateText, bytesText, errorText, estimateText, rateText, shareText } from "../text/format";
import { spanText, timeIn } from "../text/words";
import { FigureList, type Figure } from "../ui/figure_list";
import { StackList, useLargest } from "./stack_list";
import type { ViewProps } from "./view";

const USUAL: Span = { fromNs: -60e9, toNs: NOW };
const PRESENT: Span = { fromNs: -2e9, toNs: NOW };

/** How much more the blocks of each row hold at the end of an interval. */
function growthOf(recording: Recording, span: Span): Float64Array {
  const edges = recording.edgesOf(span);
  return Float64Array.from({ length: recording.series.rows }, (_, row) => recording.amountIn(row, "live_bytes", edges));
}

/** What the program does at present: of the last two seconds, and of the newest sample. */
function presentFigures(recording: Recording): Figure[] {
  const { slices, rss, run, thread } = recording.document;
  const span = recording.spanNow(PRESENT);
  const edges = recording.edgesOf(span);
  const lengthNs = span.toNs - span.fromNs;
  const newest = rss?.rss_bytes.at(-1);
  const live = slices.live_bytes.at(-1) ?? 0;
  const all = recording.withIgnored; // as in the slices
  const liveError = errorText("bytes", live, errorOfSum(all.squares("live", { fromNs: span.toNs, toNs: span.toNs })));
  const rateFigure = (name: string, calls: number, note: string): Figure => {
    const error = all.errorAtMean("count", calls);
    const perSecond = 1e9 / Math.max(1, lengthNs);
    return { name, value: rateText(calls, lengthNs) || "none", error: errorText("count", calls, error && error * perSecond), note };
  };
  return [
    { name: "Live now", value: bytesText(live), error: liveError, note: thread === undefined ? `${shareText(live, run.peak_bytes) || "none"} of the peak` : "" },
    rateFigure("Allocations now", sumIn(slices.allocation_calls, edges), byteRateText(sumIn(slices.allocated_bytes, edges), lengthNs)),
    rateFigure("Frees now", sumIn(slices.free_calls, edges), thread === undefined ? "" : "of its blocks"),
    { name: "RSS now", value: newest === undefined || thread !== undefined ? "–" : bytesText(newest), note: thread !== undefined ? "known only for a process" : newest === undefined ? "not sampled" : "" },
  ];
}

function GrowingStacks({ recording, change, span }: ViewProps & { readonly span: Span }): JSX.Element {
  const growth = useMemo(() => growthOf(recording, span), [recording, span]);
  const top = useLargest(recording, growth);
  if (top.length === 0) return <p class="faint">No stack holds more than then.</p>;
  const squares = recording.growthSquares("bytes", recording.edgesOf(span));
  const figures = (row: number): [string, string] => [`+${estimateText("bytes", growth[row]!, errorAt(squares, row))}`, byteRateText(growth[row]!, span.toNs - span.fromNs)];
  return <StackList {...{ recording, change, figures }} rows={top} cost="live" />;
}

/** Of the chosen interval; of a running program without one, of the last minute. */
export function Growth(props: ViewProps): JSX.Element | null {
  const { recording, state, isLive, isRunning } = props;
  const span = useMemo(() => state.span ?? (isLive ? recording.spanNow(USUAL) : null), [recording, state.span, isLive]);
  if (span === null || isMoment(span)) return null;
  const isOpen = isRunning && span.toNs === recording.edgesNs.at(-1);
  return (
    <section class="panel growing">
      <h2>
        {isOpen ? `What grows since ${timeIn(recording, span.fromNs)}` : `What grew: ${spanText(recording, span)}`}
      </h2>
      {isOpen && <FigureList figures={presentFigures(recording)} />}
      <GrowingStacks {...props} span={span} />
    </section>
  );
}
