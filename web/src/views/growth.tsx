// growth.tsx - which stacks hold more at the end of an interval than at its start, and what happens at present
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { Recording } from "../data/recording";
import { wordsAmong } from "../data/stack_words";
import { isMoment, NOW, type Span } from "../state";
import { byteRateText, bytesText, rateText, shareText } from "../text/format";
import { spanText, timeIn } from "../text/words";
import { FigureList, type Figure } from "../ui/figure_list";
import { largest } from "./largest";
import { StackText } from "./stack";
import type { ViewProps } from "./view";

const TOP_STACKS = 8;
const USUAL: Span = { fromNs: -60e9, toNs: NOW };
const PRESENT: Span = { fromNs: -2e9, toNs: NOW };

/** How much more the blocks of each row hold at the end of an interval. */
function growthOf(recording: Recording, span: Span): Float64Array {
  const { from, to } = recording.edgesOf(span);
  const { series } = recording;
  return Float64Array.from({ length: series.rows }, (_, row) => series.until(row, "live_bytes", to) - series.until(row, "live_bytes", from));
}

/** What the program does at present: of the last two seconds, and of the newest sample. */
function presentFigures(recording: Recording): Figure[] {
  const { slices, rss, run, thread } = recording.document;
  const span = recording.spanNow(PRESENT);
  const { from, to } = recording.edgesOf(span);
  const lengthNs = span.toNs - span.fromNs;
  const sum = (column: readonly number[]): number => column.slice(from, to).reduce((all, part) => all + part, 0);
  const newest = rss?.rss_bytes.at(-1);
  const live = slices.live_bytes.at(-1) ?? 0;
  return [
    { name: "Live now", value: bytesText(live), note: thread === undefined ? `${shareText(live, run.peak_bytes) || "none"} of the peak` : "" },
    { name: "Allocations now", value: rateText(sum(slices.allocation_calls), lengthNs) || "none", note: byteRateText(sum(slices.allocated_bytes), lengthNs) },
    { name: "Frees now", value: rateText(sum(slices.free_calls), lengthNs) || "none", note: thread === undefined ? "" : "of its blocks" },
    { name: "RSS now", value: newest === undefined || thread !== undefined ? "–" : bytesText(newest), note: thread !== undefined ? "known only for a process" : newest === undefined ? "not sampled" : "" },
  ];
}

function GrowingStacks({ recording, change, span }: ViewProps & { readonly span: Span }): JSX.Element {
  const growth = useMemo(() => growthOf(recording, span), [recording, span]);
  const top = useMemo(() => largest(growth, TOP_STACKS, (row) => recording.cutStacks(row) === 0), [recording, growth]);
  const words = useMemo(() => wordsAmong(recording, top), [recording, top]);
  const lengthNs = span.toNs - span.fromNs;
  if (top.length === 0) return <p class="faint">No stack holds more than then.</p>;
  return (
    <ul class="top growing">
      {top.map((row) => (
        <li key={row}>
          <span class="figure">+{bytesText(growth[row]!)}</span>
          <span class="figure faint">{byteRateText(growth[row]!, lengthNs)}</span>
          <a
            class="plain-link code"
            href="#flame"
            onClick={(event) => {
              event.preventDefault();
              change({ view: "flame", cost: "live", zoom: recording.tree.nodeOfRow[row]! });
            }}
          >
            <StackText line={words.line(row)} />
          </a>
        </li>
      ))}
    </ul>
  );
}

/** Of the chosen interval; of a running program without one, of the last minute. */
export function Growth(props: ViewProps): JSX.Element | null {
  const { recording, state, isLive, isRunning } = props;
  const span = useMemo(() => state.span ?? (isLive ? recording.spanNow(USUAL) : null), [recording, state.span, isLive]);
  if (span === null || isMoment(span)) return null;
  const isOpen = isRunning && span.toNs === recording.edgesNs.at(-1);
  return (
    <section class="panel">
      <h2>
        {isOpen ? `What grows since ${timeIn(recording, span.fromNs)}` : `What grew: ${spanText(recording, span)}`}
      </h2>
      {isOpen && <FigureList figures={presentFigures(recording)} />}
      <GrowingStacks {...props} span={span} />
    </section>
  );
}
