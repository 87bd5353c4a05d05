// leaks.tsx - blocks that were not freed, or by which an interval grew, by stack
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { rowsMatching } from "../data/matching";
import { stackWordsOf } from "../data/stack_words";
import type { Recording } from "../data/recording";
import { isMoment, type Span, type State } from "../state";
import { bytesText, countedText, shareText } from "../text/format";
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
}

/** For the whole run: unfreed blocks without the runtime's own. For an interval: the growth of live bytes and blocks. */
function leaksOf(recording: Recording, span: Span | null): Leak[] {
  const leaks: Leak[] = [];
  const edges = span && recording.edgesOf(span);
  for (let row = 0; row < recording.rows; row++) {
    const grown = (amount: "live_bytes" | "live_blocks"): number =>
      edges === null
        ? recording.column(amount)[row]! - recording.column(`runtime_${amount}`)[row]!
        : recording.amountIn(row, amount, edges);
    const leak = { row, bytes: grown("live_bytes"), blocks: grown("live_blocks") };
    if (leak.bytes > 0 || leak.blocks > 0) leaks.push(leak);
  }
  return leaks;
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
  const amount = `${bytesText(bytes)} in ${countedText(blocks, "block")}`;
  if (span === null) return blocks === 0 ? nothingLeftText(recording, ignore) : `${amount} not freed at the end`;
  const words = spanText(recording, span);
  return isMoment(span) ? `${amount} live ${words}` : `${amount} more live after ${words} than before, where it grew`;
}

function foundText(found: readonly Leak[], all: number): string {
  const bytes = found.reduce((sum, leak) => sum + leak.bytes, 0);
  return `${countedText(found.length, "stack")}, ${bytesText(bytes)} ${shareText(bytes, all)}`;
}

/** Shown in the table if it has no row. */
function emptyText(recording: Recording, { span, ignore }: State, leaks: readonly Leak[]): string {
  if (leaks.length > 0) return "No stack matches.";
  if (span === null) return `${nothingLeftText(recording, ignore)}.`;
  return ignore === "" ? "Nothing grew here." : "Nothing else grew here.";
}

function runtimeText(recording: Recording): string {
  const bytes = sum(recording.column("runtime_live_bytes"));
  if (bytes === 0) return "";
  const blocks = sum(recording.column("runtime_live_blocks"));
  return `Not listed: the runtime's own ${bytesText(bytes)} in ${countedText(blocks, "block")}, which are not leaks.`;
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
        share: (leak) => leak.bytes / all,
        width: "104px",
      },
      { key: "share", title: "%", kind: "share", value: (leak) => leak.bytes / all, width: "76px" },
      { key: "blocks", title: "Blocks", kind: "count", value: (leak) => leak.blocks, width: "92px" },
      { key: "calls", title: "Calls", kind: "count", value: (leak) => callsOf(leak.row), width: "104px" },
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
