// threads.tsx - what each thread allocated and freed, and which threads free blocks of which others
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { ThreadFigure } from "../data/document";
import { errorOf, rateOf } from "../data/errors";
import type { Recording } from "../data/recording";
import { handoverSeries, threadSeries } from "../data/series";
import { isMoment, type Span } from "../state";
import { countText, countedText, estimateText, type Kind } from "../text/format";
import { spanText, sumText } from "../text/words";
import { curveColour, mix } from "../ui/palette";
import { saveCsv } from "../ui/save";
import { sorting, Table, type Column } from "../ui/table";
import type { ViewProps } from "./view";

const POLICIES = ["", "FIFO", "RR", "batch", "", "idle", "deadline"]; // indexed by Linux' numbers
const MATRIX_THREADS = 16;

export function threadName(recording: Recording, row: number): string {
  const { threads } = recording.document;
  const cut = threads.cut[row] ?? 0;
  if (cut > 0) return `${countText(cut)} more threads`;
  return threads.name[row] ?? "";
}

/** The name, with the ID if another thread has the same name. */
export function distinctName(recording: Recording, row: number): string {
  const { name, tid } = recording.document.threads;
  const own = threadName(recording, row);
  return name.filter((other) => other === own).length > 1 ? `${own} ${tid[row]}` : own;
}

function policyText(recording: Recording, row: number): string {
  const { policy, priority } = recording.document.threads;
  const name = POLICIES[policy[row] ?? 0] ?? "";
  return name === "" ? "" : `${name} ${priority[row]}`;
}

/** The error of a part of a thread's estimated calls or bytes; undefined: the recording is exact. */
export function errorOfThread({ document, edgesNs }: Recording, row: number, kind: Kind, amount: number): number | undefined {
  const { calls_error, bytes_error } = document.threads;
  if (calls_error === undefined || bytes_error === undefined) return undefined;
  const [figure, errors] = kind === "bytes" ? (["bytes", bytes_error] as const) : (["calls", calls_error] as const);
  return errorOf(amount * rateOf(threadSeries(document).until(row, figure, edgesNs.length), errors[row]!));
}

/** The figures of a thread within an interval, or over the whole run. */
interface ThreadRow {
  readonly row: number;
  readonly calls: number;
  readonly bytes: number;
  readonly temporary: number;
  readonly live: number;
  /** of those that are estimates */
  readonly errors: Readonly<Partial<Record<"calls" | "bytes" | "temporary" | "live", number | undefined>>>;
}

function threadRows(recording: Recording, span: Span | null): ThreadRow[] {
  const { threads, thread, run } = recording.document;
  const rows = threads.tid.map((_tid, row) => row).filter((row) => thread === undefined || row === thread);
  if (span === null)
    return rows.map((row) => ({
      row,
      calls: threads.allocation_calls[row]!,
      bytes: threads.allocated_bytes[row]!,
      temporary: threads.temporary_calls[row]!,
      live: threads.live_bytes[row]!,
      errors: {
        ...(run.allocation_calls_error !== undefined && { calls: threads.calls_error?.[row], bytes: threads.bytes_error?.[row] }),
        temporary: threads.temporary_calls_error?.[row],
        live: threads.live_bytes_error?.[row],
      },
    }));
  const series = threadSeries(recording.document);
  const edges = recording.edgesOf(span);
  const costs = (cost: "calls" | "bytes" | "temporary" | "live"): Float64Array => recording.costsOf(series, cost, edges);
  const [calls, bytes, temporary, live] = [costs("calls"), costs("bytes"), costs("temporary"), costs("live")];
  return rows.map((row) => ({
    row,
    calls: calls[row]!,
    bytes: bytes[row]!,
    temporary: temporary[row]!,
    live: live[row]!,
    errors: {
      calls: errorOfThread(recording, row, "count", calls[row]!),
      bytes: errorOfThread(recording, row, "bytes", bytes[row]!),
      temporary: errorOfThread(recording, row, "count", temporary[row]!),
      live: errorOfThread(recording, row, "bytes", live[row]!),
    },
  }));
}

function columnsOf(recording: Recording, rows: readonly ThreadRow[], span: Span | null): Column<ThreadRow>[] {
  const { threads } = recording.document;
  const calls = rows.reduce((sum, row) => sum + row.calls, 0);
  const bytes = rows.reduce((sum, row) => sum + row.bytes, 0);
  const whole = (key: ThreadFigure, title: string, kind: Kind, hint = ""): Column<ThreadRow> => ({
    key,
    title,
    kind,
    value: ({ row }) => threads[key][row]!,
    hint,
  });
  const ofCalls = (key: ThreadFigure): Pick<Column<ThreadRow>, "error"> => ({
    error: ({ row }) => recording.errorAtMean("count", threads[key][row]!),
  });
  return [
    { key: "name", title: "Thread", kind: "text", value: ({ row }) => threadName(recording, row), width: "15%" },
    { key: "tid", title: "Id", kind: "word", value: ({ row }) => String(threads.tid[row]!), width: "72px" },
    { key: "policy", title: "Real time", kind: "word", value: ({ row }) => policyText(recording, row), width: "96px" },
    { key: "calls", title: "Allocations", kind: "count", value: (row) => row.calls, error: ({ errors }) => errors.calls, share: (row) => row.calls / calls },
    { key: "bytes", title: "Allocated", kind: "bytes", value: (row) => row.bytes, error: ({ errors }) => errors.bytes, share: (row) => row.bytes / bytes },
    { key: "temporary", title: "Temporary", kind: "count", value: (row) => row.temporary, error: ({ errors }) => errors.temporary },
    { key: "live", title: "At the end", kind: "bytes", value: (row) => row.live, error: ({ errors }) => errors.live },
    ...(span === null
      ? [
          { ...whole("peak_bytes", "At the peak", "bytes"), error: ({ row }: ThreadRow) => threads.peak_bytes_error?.[row] },
          whole("free_calls", "Frees", "count"),
          { ...whole("foreign_frees", "Foreign", "count", "frees of blocks that another thread allocated"), ...ofCalls("foreign_frees") },
          { ...whole("late_allocation_calls", "Late", "count", "allocations after the thread's first second"), ...ofCalls("late_allocation_calls") },
        ]
      : []),
  ];
}

/** The key is the rows of owner and freer with a space between; a count of -1 is unknown for the interval. */
type Blocks = ReadonlyMap<string, readonly [count: number, bytes: number]>;

const NOT_KNOWN = [-1, 0] as const;

/** The blocks of each pair over the whole run, within an interval, or until a moment. */
function blocksOf(recording: Recording, span: Span | null): Blocks {
  const { owner, freer, blocks, bytes } = recording.document.handovers!;
  const key = (pair: number): string => `${owner[pair]} ${freer[pair]}`;
  if (span === null) return new Map(owner.map((_row, pair) => [key(pair), [blocks[pair]!, bytes[pair]!]]));
  const series = handoverSeries(recording.document);
  const edges = recording.edgesOf(span);
  const [counts, sums] = [recording.costsOf(series, "calls", edges), recording.costsOf(series, "bytes", edges)];
  const isFollowed = (pair: number): boolean => series.until(pair, "calls", recording.edgesNs.length) > 0;
  return new Map(owner.map((_row, pair) => [key(pair), isFollowed(pair) ? [counts[pair]!, sums[pair]!] : NOT_KNOWN]));
}

function csvCount(count: number): number | string {
  return count < 0 ? "" : count;
}

function saveMatrix(recording: Recording, threads: readonly number[], blocks: Blocks): void {
  const names = threads.map((thread) => distinctName(recording, thread));
  saveCsv("threads-matrix.csv", [
    ["allocated by \\ freed by", ...names],
    ...threads.map((owner, i) => [names[i]!, ...threads.map((freer) => csvCount(blocks.get(`${owner} ${freer}`)?.[0] ?? 0))]),
  ]);
}

function whenText(recording: Recording, span: Span | null): string {
  if (span === null) return " in the whole run";
  return isMoment(span) ? ` ${sumText(recording, span)}` : `, ${spanText(recording, span)}`;
}

/** Which threads free blocks of which others: a row for each allocating thread, a column for each freeing thread. */
function Matrix({ recording, state, palette }: ViewProps): JSX.Element | null {
  const { handovers } = recording.document;
  const { span } = state;
  const blocks = useMemo(() => (handovers === undefined ? new Map() : blocksOf(recording, span)) as Blocks, [recording, span]);
  if (handovers === undefined || handovers.owner.length === 0) return null;
  const weight = new Map<number, number>(); // of the whole run, so that the set of threads is constant while an interval is dragged
  handovers.owner.forEach((owner, i) => {
    for (const thread of [owner, handovers.freer[i]!]) weight.set(thread, (weight.get(thread) ?? 0) + handovers.blocks[i]!);
  });
  const all = [...weight.keys()].sort((a, b) => weight.get(b)! - weight.get(a)!);
  const shown = all.slice(0, MATRIX_THREADS).sort((a, b) => a - b);
  const most = Math.max(1, ...[...blocks.values()].map(([count]) => count));
  const cell = (owner: number, freer: number): JSX.Element => {
    const [count, bytes] = blocks.get(`${owner} ${freer}`) ?? [0, 0];
    const ground = mix(curveColour(0, palette), palette.panel, count <= 0 ? 0.04 : 0.12 + (0.3 * count) / most);
    const [countError, bytesError] = [recording.errorAtMean("count", count), recording.errorAtMean("bytes", bytes)];
    const amount = count < 0 ? "an unknown number of blocks" : `${countedText(count, "block", countError)} (${estimateText("bytes", bytes, bytesError)})`;
    const title = `${distinctName(recording, freer)} freed ${amount} of ${distinctName(recording, owner)}`;
    return (
      <td key={freer} style={{ background: ground }} title={title}>
        {count === 0 ? "" : count < 0 ? "?" : estimateText("count", count, countError)}
      </td>
    );
  };
  return (
    <section class="panel matrix-panel">
      <div class="toolbar">
        <h2>Blocks freed by other threads</h2>
        <span class="faint">
          blocks that one thread allocated (row) and another freed (column)
          {whenText(recording, span)}
          {all.length > shown.length && `; the ${shown.length} of ${countText(all.length)} threads with most`}
          {[...blocks.values()].some(([count]) => count < 0) && "; ?: known only for the whole run"}
        </span>
        <button
          type="button"
          class="plain-button to-right"
          aria-label="Save the matrix as CSV"
          title="All rows of the matrix, not only those shown"
          onClick={() => saveMatrix(recording, [...all].sort((a, b) => a - b), blocks)}
        >
          CSV
        </button>
      </div>
      <div class="scroll-x" tabIndex={0} role="region" aria-label="The matrix of threads">
        <table class="matrix">
          <thead>
            <tr>
              <th />
              {shown.map((freer) => (
                <th key={freer} scope="col">
                  {distinctName(recording, freer)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((owner) => (
              <tr key={owner}>
                <th scope="row">{distinctName(recording, owner)}</th>
                {shown.map((freer) => cell(owner, freer))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

export function Threads(props: ViewProps): JSX.Element {
  const { recording, state, change } = props;
  const { span } = state;
  const { threads } = recording.document.run;
  const { thread } = recording.document;
  const rows = useMemo(() => threadRows(recording, span), [recording, span]);
  const columns = useMemo(() => columnsOf(recording, rows, span), [recording, rows]);
  const count = threads === 1 ? "1 thread" : `${countText(threads)} threads`;
  const canChoose = recording.document.stack_threads !== undefined;
  const hint = canChoose && thread === undefined ? "A double click shows only this thread in every view." : "";
  return (
    <>
      <div class="toolbar">
        <h2>{thread === undefined ? count : `One of ${count}`}</h2>
        <span class="faint">{span !== null ? sumText(recording, span) : hint}</span>
      </div>
      <Table
        name="threads"
        columns={columns}
        rows={rows}
        idOf={({ row }) => row}
        {...sorting({ state, change }, "bytes-")}
        chosen={state.row}
        onChoose={({ row }) => change({ row })}
        {...(canChoose && { onOpen: ({ row }: ThreadRow) => change({ thread: row }) })}
      />
      <Matrix {...props} />
    </>
  );
}
