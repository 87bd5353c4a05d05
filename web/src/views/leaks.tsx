// leaks.tsx - blocks that were not freed, or by which an interval grew, by stack
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { rowsMatching } from "../data/matching";
import { stackWordsOf } from "../data/stack_words";
import { errorAt, errorOf, errorOfSum, type Squares } from "../data/errors";
import type { Edges, Recording } from "../data/recording";
import { isMoment, type Span, type State } from "../state";
import { countedText, estimateText, shareText, type Kind } from "../text/format";
import { spanText } from "../text/words";
import { useSearch } from "../ui/find";
import { sorting, Table, type Column } from "../ui/table";
import { Later } from "../ui/later";
import { Finding } from "./finding";
import { StackCell } from "./stack";
import { StackDetail } from "./stack_detail";
import type { ViewProps } from "./view";

interface Leak {
  readonly row: number;
  readonly bytes: number;
  readonly blocks: number;
  readonly bytesError: number | undefined;
  readonly blocksError: number | undefined;
}

/** The squares of the errors of leaks, by row: of the whole run for the part that is not the runtime's, or of the growth. */
function squaresOf(recording: Recording, kind: Kind, edges: Edges | null, leaked: Float64Array): Squares {
  return edges === null || edges.from === edges.to ? recording.squaresOf(kind, leaked) : recording.growthSquares(kind, edges);
}

/** For the whole run: unfreed blocks without the runtime's own. For an interval: the growth of live bytes and blocks. */
function leaksOf(recording: Recording, span: Span | null): Leak[] {
  const edges = span && recording.edgesOf(span);
  const grown = (amount: "live_bytes" | "live_blocks"): Float64Array =>
    Float64Array.from({ length: recording.rows }, (_, row) =>
      edges === null
        ? recording.column(amount)[row]! - recording.column(`runtime_${amount}`)[row]!
        : recording.amountIn(row, amount, edges),
    );
  const [bytes, blocks] = [grown("live_bytes"), grown("live_blocks")];
  const [bytesSquares, blocksSquares] = [squaresOf(recording, "bytes", edges, bytes), squaresOf(recording, "count", edges, blocks)];
  const leakAt = (row: number): Leak => ({
    row,
    bytes: bytes[row]!,
    blocks: blocks[row]!,
    bytesError: errorAt(bytesSquares, row),
    blocksError: errorAt(blocksSquares, row),
  });
  return Array.from(bytes.keys())
    .filter((row) => bytes[row]! > 0 || blocks[row]! > 0)
    .map(leakAt);
}

/** The error of the sum of leaks; undefined: they are exact. */
function errorOfAll(leaks: readonly Leak[], key: "bytesError" | "blocksError"): number | undefined {
  if (leaks[0]?.[key] === undefined) return undefined;
  return errorOf(leaks.reduce((sum, leak) => sum + leak[key]! ** 2, 0));
}

function sum(column: Float64Array): number {
  return column.reduce((all, part) => all + part, 0);
}

/** For the whole run, if there is no leak. */
function nothingLeftText(recording: Recording, ignore: string): string {
  if (ignore !== "") return "Nothing else is left";
  return sum(recording.column("runtime_live_blocks")) > 0 ? "Only blocks of the runtime are left" : "Every block was freed";
}

function heading(recording: Recording, { span, ignore }: State, leaks: readonly Leak[]): string {
  const bytes = leaks.reduce((sum, leak) => sum + leak.bytes, 0);
  const blocks = leaks.reduce((sum, leak) => sum + leak.blocks, 0);
  const amount = `${estimateText("bytes", bytes, errorOfAll(leaks, "bytesError"))} in ${countedText(blocks, "block", errorOfAll(leaks, "blocksError"))}`;
  if (span === null) return blocks === 0 ? nothingLeftText(recording, ignore) : `${amount} not freed at the end`;
  const words = spanText(recording, span);
  return isMoment(span) ? `${amount} live ${words}` : `${amount} more live after ${words} than before, where it grew`;
}

function foundText(found: readonly Leak[], all: number): string {
  const bytes = found.reduce((sum, leak) => sum + leak.bytes, 0);
  return `${countedText(found.length, "stack")}, ${estimateText("bytes", bytes, errorOfAll(found, "bytesError"))} ${shareText(bytes, all)}`;
}

/** Shown in the table if it has no row. */
function emptyText(recording: Recording, { span, ignore }: State, leaks: readonly Leak[]): string {
  if (leaks.length > 0) return "No stack matches.";
  if (span === null) return `${nothingLeftText(recording, ignore)}.`;
  return ignore === "" ? "Nothing grew here." : "Nothing else grew here.";
}

function runtimeText(recording: Recording): string {
  const [bytes, blocks] = [recording.column("runtime_live_bytes"), recording.column("runtime_live_blocks")];
  if (sum(bytes) === 0) return "";
  const bytesShown = estimateText("bytes", sum(bytes), errorOfSum(recording.squaresOf("bytes", bytes)));
  const blocksShown = countedText(sum(blocks), "block", errorOfSum(recording.squaresOf("count", blocks)));
  return `Not listed: the runtime's own ${bytesShown} in ${blocksShown}, which are not leaks.`;
}

export function Leaks(props: ViewProps): JSX.Element {
  const { recording, state, change } = props;
  const { span } = state;
  const leaks = useMemo(() => leaksOf(recording, span), [recording, span]);
  const all = useMemo(() => leaks.reduce((sum, leak) => sum + leak.bytes, 0), [leaks]);
  const callsOf = (row: number): number =>
    span === null ? recording.column("calls")[row]! : recording.amountIn(row, "calls", recording.edgesOf(span));
  const columns = useMemo<Column<Leak>[]>(
    () => [
      {
        key: "stack",
        title: "Allocated by",
        kind: "text",
        value: (leak) => stackWordsOf(recording).text(leak.row),
        show: (leak) => <StackCell recording={recording} row={leak.row} />,
      },
      {
        key: "bytes",
        title: "Bytes",
        kind: "bytes",
        value: (leak) => leak.bytes,
        error: (leak) => leak.bytesError,
        share: (leak) => leak.bytes / all,
        width: "104px",
      },
      { key: "share", title: "%", kind: "share", value: (leak) => leak.bytes / all, width: "76px" },
      { key: "blocks", title: "Blocks", kind: "count", value: (leak) => leak.blocks, error: (leak) => leak.blocksError, width: "92px" },
      {
        key: "calls",
        title: "Calls",
        kind: "count",
        value: (leak) => callsOf(leak.row),
        error: (leak) => recording.errorOfPart(leak.row, "count", callsOf(leak.row)),
        width: "104px",
      },
    ],
    [recording, all, span],
  );
  const search = useSearch(state.find);
  const kept = useMemo(() => rowsMatching(recording, search), [recording, search]);
  const found = useMemo(() => (kept === null ? leaks : leaks.filter((leak) => kept[leak.row] === 1)), [leaks, kept]);
  const largest = found.reduce<Leak | null>((most, leak) => (most === null || leak.bytes > most.bytes ? leak : most), null);
  const chosen = found.some((leak) => leak.row === state.row) ? state.row : (largest?.row ?? -1);
  return (
    <>
      <div class="toolbar">
        <h2>{heading(recording, state, leaks)}</h2>
        <Finding {...{ state, change }} result={kept === null ? "" : foundText(found, all)} />
        {span === null && <span class="faint">{runtimeText(recording)}</span>}
      </div>
      <div class={chosen >= 0 ? "with-detail" : "alone"}>
        <Table
          name="leaks"
          columns={columns}
          rows={found}
          idOf={(leak) => leak.row}
          {...sorting({ state, change }, "bytes-")}
          chosen={chosen}
          onChoose={(leak) => change({ row: leak.row })}
          empty={emptyText(recording, state, leaks)}
        />
        {chosen >= 0 && (
          <Later room={<aside class="detail" />}>
            <StackDetail {...props} row={chosen} />
          </Later>
        )}
      </div>
    </>
  );
}
