// stack_detail.tsx - one row of the recording's stacks: its figures, its live bytes over time, its frames
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { EstimatedFigure } from "../data/document";
import type { Recording } from "../data/recording";
import { isMoment, type Span } from "../state";
import { bytesText, countText, countedText, estimateText, type Kind } from "../text/format";
import { sumText, timeIn } from "../text/words";
import { LiveChart } from "./live_chart";
import { Frames } from "./stack";
import type { ViewProps } from "./view";

/** An amount, and its error if it is an estimate. */
type Estimate = readonly [amount: number, error: number | undefined];

function inBlocks(bytes: Estimate, blocks: Estimate): string {
  return blocks[0] === 0 ? "0" : `${estimateText("bytes", ...bytes)} in ${countedText(blocks[0], "block", blocks[1])}`;
}

/** The figures within an interval, or until a moment. */
function figuresWithin(recording: Recording, row: number, span: Span): [string, string][] {
  const edges = recording.edgesOf(span);
  const { series } = recording;
  const part = (kind: Kind, amount: number): Estimate => [amount, recording.errorOfPart(row, kind, amount)];
  const liveAt = (edge: number): string =>
    inBlocks(part("bytes", series.until(row, "live_bytes", edge)), part("count", series.until(row, "live_blocks", edge)));
  const states: [string, string][] = isMoment(span)
    ? [["Live bytes", liveAt(edges.to)]]
    : [
        ["At the start", liveAt(edges.from)],
        ["At the end", liveAt(edges.to)],
      ];
  return [
    ["Shown", sumText(recording, span)],
    ...states,
    ["Allocations", estimateText("count", ...part("count", recording.amountIn(row, "calls", edges)))],
    ["Allocated", estimateText("bytes", ...part("bytes", recording.amountIn(row, "bytes", edges)))],
    ["Temporary", estimateText("count", ...part("count", recording.amountIn(row, "temporary", edges)))],
  ];
}

function figuresOf(recording: Recording, row: number, span: Span | null): [string, string][] {
  if (span !== null) return figuresWithin(recording, row, span);
  const at = (figure: Parameters<Recording["column"]>[0]): number => recording.column(figure)[row]!;
  const estimate = (of: EstimatedFigure): Estimate => [at(of), recording.errorOf(row, of)];
  const shown = (kind: Kind, of: EstimatedFigure): string => estimateText(kind, ...estimate(of));
  const [least, most] = [bytesText(at("smallest")), bytesText(at("largest"))];
  const sizes = at("smallest") === at("largest") ? most : `${least} – ${most}`;
  const isWhole = recording.document.thread === undefined; // these are not known for one thread's part of a stack
  const ownPeakBytes = at("own_peak_bytes");
  const ownPeak: [string, string] = ["Own peak", estimateText("bytes", ownPeakBytes, recording.errorOfPart(row, "bytes", ownPeakBytes))];
  const [first, last] = [timeIn(recording, at("first_ns")), timeIn(recording, at("last_ns"))];
  const firstAndLast: [string, string] = ["First, last", `${first}, ${last}`];
  return [
    ["At the end", inBlocks(estimate("live_bytes"), estimate("live_blocks"))],
    ["At the peak", inBlocks(estimate("peak_bytes"), estimate("peak_blocks"))],
    ...(isWhole ? [ownPeak] : []),
    ["Allocations", isWhole ? `${shown("count", "calls")} of ${sizes}` : shown("count", "calls")],
    ["Allocated", shown("bytes", "bytes")],
    ["Temporary", shown("count", "temporary_calls")],
    ...(isWhole ? [firstAndLast] : []),
  ];
}

export function StackDetail(props: ViewProps & { row: number }): JSX.Element {
  const { recording, state, change, row } = props;
  const curve = useMemo(() => recording.liveCurve([row]), [recording, row]);
  const places = useMemo(() => recording.stack(row), [recording, row]);
  const cut = recording.cutStacks(row);
  return (
    <aside class="detail" aria-label="The chosen stack">
      <div class="detail-head">
        <h2>{cut > 0 ? `${countText(cut)} stacks below this frame` : recording.entryOf(row)}</h2>
        <a
          class="plain-button"
          href="#flame"
          onClick={(event) => {
            event.preventDefault();
            change({ view: "flame", zoom: recording.tree.nodeOfRow[row]!, mode: "icicle" });
          }}
        >
          in the flame graph
        </a>
      </div>
      <dl>
        {figuresOf(recording, row, state.span).map(([name, text]) => (
          <>
            <dt>{name}</dt>
            <dd>{text}</dd>
          </>
        ))}
      </dl>
      <LiveChart {...props} name="stack" title="Live bytes of this stack" values={curve} error={recording.isSampled ? (bytes) => recording.errorOfPart(row, "bytes", bytes) : undefined} height={120} />
      <Frames places={places} />
    </aside>
  );
}
