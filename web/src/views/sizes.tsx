// sizes.tsx - the block sizes: counts, bytes at the peak and at the end, and live bytes over time
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { SIZE_FIGURES, type SizeFigure } from "../data/document";
import { errorOfSize, errorOfSum } from "../data/errors";
import { unpack } from "../data/packed";
import type { Recording } from "../data/recording";
import { sizeSeries, type Series } from "../data/series";
import { GRAINS, type Grain, type Span } from "../state";
import { bytesText, countedText, type Kind } from "../text/format";
import { sumText } from "../text/words";
import { Choices } from "../ui/choices";
import { sorting, Table, type Column } from "../ui/table";
import { LiveChart } from "./live_chart";
import type { ViewProps } from "./view";

/** The ID of a row is its `from`, the smallest size in it, which no other row has. */
type SizeRow = Readonly<Record<SizeFigure | "frees" | "own_peak_bytes", number>>;

function sizeText({ from, to }: { from: number; to: number }): string {
  return from === to ? bytesText(from) : `${bytesText(from)} – ${bytesText(to)}`;
}

function wholeRun(recording: Recording): SizeRow[] {
  const { sizes } = recording.document;
  const columns = SIZE_FIGURES.map((figure) => [figure, unpack(sizes[figure])] as const);
  return Array.from(columns[0]![1], (_, id) => {
    const row: Partial<Record<SizeFigure, number>> = {};
    for (const [figure, values] of columns) row[figure] = values[id]!;
    const made = row as Record<SizeFigure, number>;
    return { ...made, frees: made.calls - made.live_blocks, own_peak_bytes: made.own_peak_blocks * made.to };
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
  const blocksAt = (row: number, edge: number): number => series.until(row, "live_blocks", edge);
  return rows.from.map((from, id) => ({
    from,
    to: rows.to[id]!,
    cut: 0,
    calls: calls[id]!,
    frees: calls[id]! + blocksAt(id, edges.since) - blocksAt(id, edges.to),
    bytes: bytes[id]!,
    temporary_calls: temporary[id]!,
    live_blocks: blocksAt(id, edges.to),
    live_bytes: live[id]!,
    peak_blocks: blocksAt(id, recording.highest(edges)),
    peak_bytes: peak[id]!,
    peak_usable_bytes: peak[id]!,
    own_peak_blocks: 0,
    own_peak_bytes: 0,
    series_row: id,
  }));
}

const SUMMED = ["cut", "calls", "frees", "bytes", "temporary_calls", "live_blocks", "live_bytes", "peak_blocks", "peak_bytes", "peak_usable_bytes"] as const;

/** The upper limit of a size's class: a power of two, at least 16. */
function classOf(size: number): number {
  return size <= 16 ? 16 : 2 ** Math.ceil(Math.log2(size));
}

/** The own peak of each class in the whole run, of the chosen thread; by the class's limit. */
function classPeaks({ document: { size_classes: classes, thread } }: Recording): Map<number, number> {
  const peaks = new Map<number, number>();
  if (classes === undefined) return peaks;
  const [threads, limits, bytes] = [unpack(classes.thread), unpack(classes.to), unpack(classes.peak_bytes)];
  limits.forEach((limit, i) => threads[i] === (thread ?? -1) + 1 && peaks.set(limit, bytes[i]!));
  return peaks;
}

/** The rows summed up by class. */
function byClass(rows: readonly SizeRow[], peaks: ReadonlyMap<number, number>): SizeRow[] {
  const classes = new Map<number, SizeRow>();
  for (const row of rows) {
    const limit = classOf(row.to);
    const sum = { ...(classes.get(limit) ?? row) };
    if (classes.has(limit)) for (const figure of SUMMED) sum[figure] += row[figure];
    classes.set(limit, { ...sum, from: limit === 16 ? 0 : limit / 2 + 1, to: limit, own_peak_bytes: peaks.get(limit) ?? 0 });
  }
  return [...classes.values()];
}

interface Shown {
  readonly grain: Grain;
  /** the whole run */
  readonly isWhole: boolean;
  readonly isOneThread: boolean;
}

type CountFigure = "calls" | "frees" | "temporary_calls" | "peak_blocks" | "live_blocks";
type BytesFigure = "bytes" | "peak_bytes" | "live_bytes" | "own_peak_bytes";

/** The size of a row's blocks; of several sizes, their mean. */
function meanSize({ calls, bytes, from, to }: SizeRow): number {
  return from === to || calls === 0 ? to : bytes / calls;
}

/** undefined: the recording is exact. */
function errorOf({ document: { run } }: Recording, row: SizeRow, kind: Kind, amount: number): number | undefined {
  return errorOfSize(run.sample_bytes, meanSize(row), kind, amount);
}

function columnsOf(recording: Recording, rows: readonly SizeRow[], { grain, isWhole, isOneThread }: Shown): Column<SizeRow>[] {
  const ofBlocks = (figure: CountFigure) => (row: SizeRow) => errorOf(recording, row, "count", row[figure]);
  const ofBytes = (figure: BytesFigure) => (row: SizeRow) => errorOf(recording, row, "bytes", row[figure]);
  const slackError = (row: SizeRow): number | undefined => {
    const error = ofBlocks("peak_blocks")(row);
    return error && (error * (row.peak_usable_bytes - row.peak_bytes)) / row.peak_blocks;
  };
  const sum = (figure: keyof SizeRow): number => rows.reduce((all, row) => all + row[figure], 0);
  const [calls, peak] = [sum("calls"), sum("peak_bytes")];
  const ownPeak: Column<SizeRow> = {
    key: "own",
    title: "Own peak",
    kind: "bytes",
    value: (row) => row.own_peak_bytes,
    error: ofBytes("own_peak_bytes"),
    show: (row) => (row.own_peak_bytes > 0 ? bytesText(row.own_peak_bytes) : "–"),
    hint: "its own maximum, whenever that was",
  };
  const slack: Column<SizeRow> = {
    key: "slack",
    title: "Slack",
    kind: "bytes",
    value: (row) => row.peak_usable_bytes - row.peak_bytes,
    error: slackError,
    hint: "rounding by the allocator, at the peak",
  };
  if (recording.document.memory !== undefined)
    return [
      { key: "size", title: "Size", kind: "bytes", value: (row) => row.from, show: sizeText, width: "160px" },
      { key: "peak", title: "Live", kind: "bytes", value: (row) => row.live_bytes, share: (row) => row.live_bytes / peak },
      { key: "peak_blocks", title: "Blocks", kind: "count", value: (row) => row.live_blocks },
    ];
  return [
    { key: "size", title: "Size", kind: "bytes", value: (row) => row.from, show: sizeText, width: "160px" },
    { key: "calls", title: "Calls", kind: "count", value: (row) => row.calls, error: ofBlocks("calls"), share: (row) => row.calls / calls },
    { key: "frees", title: "Frees", kind: "count", value: (row) => row.frees, error: ofBlocks("frees"), hint: "blocks that ended" },
    { key: "bytes", title: "Allocated", kind: "bytes", value: (row) => row.bytes, error: ofBytes("bytes") },
    { key: "temporary", title: "Temporary", kind: "count", value: (row) => row.temporary_calls, error: ofBlocks("temporary_calls") },
    { key: "peak", title: "At the peak", kind: "bytes", value: (row) => row.peak_bytes, error: ofBytes("peak_bytes"), share: (row) => row.peak_bytes / peak },
    { key: "peak_blocks", title: "Peak blocks", kind: "count", value: (row) => row.peak_blocks, error: ofBlocks("peak_blocks") },
    { key: "live", title: "At the end", kind: "bytes", value: (row) => row.live_bytes, error: ofBytes("live_bytes") },
    { key: "live_blocks", title: "Blocks left", kind: "count", value: (row) => row.live_blocks, error: ofBlocks("live_blocks") },
    ...(isWhole && (grain === "classes" || !isOneThread) ? [ownPeak] : []),
    ...(isWhole && !isOneThread ? [slack] : []),
  ];
}

/** The row of a size, or else the row that it shares with others. */
function rowOf(rows: readonly SizeRow[], size: number): SizeRow | undefined {
  return rows.find(({ from }) => from === size) ?? rows.find(({ from, to }) => from <= size && size <= to);
}

function largestAtPeak(rows: readonly SizeRow[]): SizeRow | undefined {
  return rows.reduce<SizeRow | undefined>((best, row) => (row.peak_bytes > (best?.peak_bytes ?? -1) ? row : best), undefined);
}

/** The rows of the series that a row consists of. */
function seriesRowsOf({ document: { size_series: sizes } }: Recording, row: SizeRow, grain: Grain): number[] {
  if (grain === "exact") return [row.series_row];
  return sizes.from.map((_from, each) => each).filter((each) => row.from <= sizes.from[each]! && sizes.to[each]! <= row.to);
}

function SizeChart({ series, row, ...props }: ViewProps & { readonly series: Series; readonly row: SizeRow }): JSX.Element {
  const { recording, state } = props;
  const { size_series: sizes } = recording.document;
  const rows = useMemo(() => seriesRowsOf(recording, row, state.grain), [recording, row, state.grain]);
  const values = useMemo(() => {
    const live = new Float64Array(recording.edgesNs.length);
    for (const each of rows) series.addTo(live, each, "live_bytes");
    return live;
  }, [recording, series, rows]);
  const shown = { from: Math.min(...rows.map((each) => sizes.from[each]!)), to: Math.max(...rows.map((each) => sizes.to[each]!)) };
  return <LiveChart {...props} name="size" title={`Live bytes of blocks of ${sizeText(shown)}`} values={values} error={recording.isSampled ? (bytes) => errorOf(recording, row, "bytes", bytes) : undefined} height={130} />;
}

const GRAIN_NAMES: Readonly<Record<Grain, string>> = { exact: "Each size", classes: "Powers of two" };

export function Sizes(props: ViewProps): JSX.Element {
  const { recording, state, change } = props;
  const { span, grain } = state;
  const series = sizeSeries(recording.document);
  const all = useMemo(() => {
    const rows = span === null ? wholeRun(recording) : within(recording, series, span);
    return grain === "exact" ? rows : byClass(rows, classPeaks(recording));
  }, [recording, series, span, grain]);
  const rows = useMemo(
    () => all.filter((row) => row.calls > 0 || row.live_blocks > 0 || row.peak_blocks > 0),
    [all],
  );
  const [isWhole, isOneThread] = [span === null, recording.document.thread !== undefined];
  const columns = useMemo(() => columnsOf(recording, rows, { grain, isWhole, isOneThread }), [rows]);
  const notes = span === null ? [] : [sumText(recording, span)];
  if (grain === "exact" && (!isWhole || isOneThread)) notes.push("small sums are shown as one row per size class");
  const isOfMemory = recording.document.memory !== undefined;
  const calls = rows.reduce((sum, row) => sum + (isOfMemory ? row.live_blocks : row.calls), 0);
  const chosen = rowOf(all, state.row) ?? largestAtPeak(rows);
  return (
    <>
      <div class="toolbar">
        <h2>{countedText(calls, isOfMemory ? "block" : "allocation", errorOfSum(recording.squares("calls", span)))} by size</h2>
        <Choices
          label="Rows"
          choices={GRAINS.map((each) => [each, GRAIN_NAMES[each]])}
          chosen={grain}
          onChoose={(each) => change({ grain: each, row: -1 })}
        />
        <span class="faint">{notes.join("; ")}</span>
      </div>
      {chosen !== undefined && !isOfMemory && <SizeChart {...props} series={series} row={chosen} />}
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
