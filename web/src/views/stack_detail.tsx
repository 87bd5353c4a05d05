// stack_detail.tsx - one row of the recording's stacks: its figures, its live bytes over time, its frames
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { Recording } from "../data/recording";
import { isMoment, type Span } from "../state";
import { bytesText, countText, countedText, errorText } from "../text/format";
import { sumText, timeIn } from "../text/words";
import { LiveChart } from "./live_chart";
import { Frames } from "./stack";
import type { ViewProps } from "./view";

function inBlocks(bytes: number, blocks: number): string {
  return blocks === 0 ? "0" : `${bytesText(bytes)} in ${countedText(blocks, "block")}`;
}

/** The figures within an interval, or until a moment. */
function figuresWithin(recording: Recording, row: number, span: Span): [string, string][] {
  const edges = recording.edgesOf(span);
  const { series } = recording;
  const liveAt = (edge: number): string => inBlocks(series.until(row, "live_bytes", edge), series.until(row, "live_blocks", edge));
  const states: [string, string][] = isMoment(span)
    ? [["Live bytes", liveAt(edges.to)]]
    : [
        ["At the start", liveAt(edges.from)],
        ["At the end", liveAt(edges.to)],
      ];
  return [
    ["Shown", sumText(recording, span)],
    ...states,
    ["Allocations", countText(recording.amountIn(row, "calls", edges))],
    ["Allocated", bytesText(recording.amountIn(row, "bytes", edges))],
    ["Temporary", countText(recording.amountIn(row, "temporary", edges))],
  ];
}

function figuresOf(recording: Recording, row: number, span: Span | null): [string, string][] {
  if (span !== null) return figuresWithin(recording, row, span);
  const at = (figure: Parameters<Recording["column"]>[0]): number => recording.column(figure)[row]!;
  const error = (of: Parameters<Recording["errorOf"]>[1], text: (amount: number) => string): string => {
    const shown = errorText(recording.errorOf(row, of), text);
    return shown === "" ? "" : `, ${shown}`;
  };
  const [least, most] = [bytesText(at("smallest")), bytesText(at("largest"))];
  const sizes = at("smallest") === at("largest") ? most : `${least} – ${most}`;
  const isWhole = recording.document.thread === undefined; // these are not known for one thread's part of a stack
  const ownPeak: [string, string] = ["Own peak", bytesText(at("own_peak_bytes"))];
  const [first, last] = [timeIn(recording, at("first_ns")), timeIn(recording, at("last_ns"))];
  const firstAndLast: [string, string] = ["First, last", `${first}, ${last}`];
  return [
    ["At the end", inBlocks(at("live_bytes"), at("live_blocks")) + error("live_bytes_error", bytesText)],
    ["At the peak", inBlocks(at("peak_bytes"), at("peak_blocks")) + error("peak_bytes_error", bytesText)],
    ...(isWhole ? [ownPeak] : []),
    ["Allocations", (isWhole ? `${countText(at("calls"))} of ${sizes}` : countText(at("calls"))) + error("calls_error", countText)],
    ["Allocated", bytesText(at("bytes")) + error("bytes_error", bytesText)],
    ["Temporary", countText(at("temporary_calls"))],
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
      <LiveChart {...props} name="stack" title="Live bytes of this stack" values={curve} height={120} />
      <Frames places={places} />
    </aside>
  );
}
