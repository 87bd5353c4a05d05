// sizes.tsx - the block sizes: counts, bytes at the peak and at the end, and live bytes over time
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { SIZE_FIGURES, type SizeFigure } from "../data/document";
import { unpack } from "../data/packed";
import type { Recording } from "../data/recording";
import { sizeSeries, type Series } from "../data/series";
import type { Span } from "../state";
import { bytesText, countedText } from "../text/format";
import { sumText } from "../text/words";
import { sorting, Table, type Column } from "../ui/table";
import { LiveChart } from "./live_chart";
import type { ViewProps } from "./view";

/** The ID of a row is its `from`, the smallest size in it, which no other row has. */
type SizeRow = Readonly<Record<SizeFigure, number>>;

function sizeText({ from, to }: { from: number; to: number }): string {
  return from === to ? bytesText(from) : `${bytesText(from)} – ${bytesText(to)}`;
}

function wholeRun(recording: Recording): SizeRow[] {
  const { sizes } = recording.document;
  const columns = SIZE_FIGURES.map((figure) => [figure, unpack(sizes[figure])] as const);
  return Array.from(columns[0]![1], (_, id) => {
    const row: Partial<Record<SizeFigure, number>> = {};
    for (const [figure, values] of columns) row[figure] = values[id]!;
    return row as SizeRow;
  });
}

/**
 * The rows within an interval: those that the document follows over time, where sizes with small amounts share a
 * row.
 */
function within(recording: Recording, series: Series, span: Span): SizeRow[] {
  const { size_series: rows } = recording.document;
  const edges = recording.edgesOf(span);
  const costs = (cost: "calls" | "bytes" | "temporary" | "live" | "peak"): Float64Array => recording.costsOf(series, cost, edges);
  const [calls, bytes, temporary, live, peak] = [costs("calls"), costs("bytes"), costs("temporary"), costs("live"), costs("peak")];
  return rows.from.map((from, id) => ({
    from,
    to: rows.to[id]!,
    cut: 0,
    calls: calls[id]!,
    bytes: bytes[id]!,
    temporary_calls: temporary[id]!,
    live_blocks: series.until(id, "live_blocks", edges.to),
    live_bytes: live[id]!,
    peak_blocks: series.until(id, "live_blocks", recording.highest(edges)),
    peak_bytes: peak[id]!,
    peak_usable_bytes: peak[id]!,
    own_peak_blocks: 0,
    series_row: id,
  }));
}

function columnsOf(rows: readonly SizeRow[], isWhole: boolean): Column<SizeRow>[] {
  const sum = (figure: SizeFigure): number => rows.reduce((all, row) => all + row[figure], 0);
  const [calls, peak] = [sum("calls"), sum("peak_bytes")];
  const wholeOnly: Column<SizeRow>[] = [
    {
      key: "own",
      title: "Most blocks",
      kind: "count",
      value: (row) => row.own_peak_blocks,
      hint: "its own maximum, whenever that was",
    },
    {
      key: "slack",
      title: "Slack",
      kind: "bytes",
      value: (row) => row.peak_usable_bytes - row.peak_bytes,
      hint: "rounding by the allocator, at the peak",
    },
  ];
  return [
    { key: "size", title: "Size", kind: "bytes", value: (row) => row.from, show: sizeText, width: "160px" },
    { key: "calls", title: "Calls", kind: "count", value: (row) => row.calls, share: (row) => row.calls / calls },
    { key: "bytes", title: "Allocated", kind: "bytes", value: (row) => row.bytes },
    { key: "temporary", title: "Temporary", kind: "count", value: (row) => row.temporary_calls },
    { key: "peak", title: "At the peak", kind: "bytes", value: (row) => row.peak_bytes, share: (row) => row.peak_bytes / peak },
    { key: "peak_blocks", title: "Peak blocks", kind: "count", value: (row) => row.peak_blocks },
    { key: "live", title: "At the end", kind: "bytes", value: (row) => row.live_bytes },
    { key: "live_blocks", title: "Blocks left", kind: "count", value: (row) => row.live_blocks },
    ...(isWhole ? wholeOnly : []),
  ];
}

/** The row of a size, or else the row that it shares with others. */
function rowOf(rows: readonly SizeRow[], size: number): SizeRow | undefined {
  return rows.find(({ from }) => from === size) ?? rows.find(({ from, to }) => from <= size && size <= to);
}

function largestAtPeak(rows: readonly SizeRow[]): SizeRow | undefined {
  return rows.reduce<SizeRow | undefined>((best, row) => (row.peak_bytes > (best?.peak_bytes ?? -1) ? row : best), undefined);
}

function SizeChart({ series, row, ...props }: ViewProps & { readonly series: Series; readonly row: number }): JSX.Element {
  const { recording } = props;
  const values = useMemo(() => {
    const live = new Float64Array(recording.edgesNs.length);
    if (row < series.rows) series.addTo(live, row, "live_bytes");
    return live;
  }, [recording, series, row]);
  const { from, to } = recording.document.size_series;
  const shown = { from: from[row] ?? 0, to: to[row] ?? 0 };
  return <LiveChart {...props} name="size" title={`Live bytes of blocks of ${sizeText(shown)}`} values={values} height={130} />;
}

export function Sizes(props: ViewProps): JSX.Element {
  const { recording, state, change } = props;
  const { span } = state;
  const series = sizeSeries(recording.document);
  const all = useMemo(
    () => (span === null ? wholeRun(recording) : within(recording, series, span)),
    [recording, series, span],
  );
  const rows = useMemo(
    () => all.filter((row) => row.calls > 0 || row.live_blocks > 0 || row.peak_blocks > 0),
    [all],
  );
  const isOfAll = span === null && recording.document.thread === undefined;
  const columns = useMemo(() => columnsOf(rows, isOfAll), [rows]);
  const notes = span === null ? [] : [sumText(recording, span)];
  if (!isOfAll) notes.push("small sums are shown as one row per size class");
  const calls = rows.reduce((sum, row) => sum + row.calls, 0);
  const chosen = rowOf(all, state.row) ?? largestAtPeak(rows);
  return (
    <>
      <div class="toolbar">
        <h2>{countedText(calls, "allocation")} by size</h2>
        <span class="faint">{notes.join("; ")}</span>
      </div>
      <SizeChart {...props} series={series} row={chosen?.series_row ?? 0} />
      <Table
        name="sizes"
        columns={columns}
        rows={rows}
        idOf={(row) => row.from}
        {...sorting({ state, change }, "peak-")}
        chosen={chosen?.from ?? -1}
        onChoose={(row) => change({ row: row.from })}
      />
    </>
  );
}
