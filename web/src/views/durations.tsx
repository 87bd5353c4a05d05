// durations.tsx - durations of calls: by function, by powers of two, and the slowest calls with their stacks
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { DurationFields, SlowCallFields } from "../data/document";
import { durationsOf, type Durations } from "../data/durations";
import type { Recording } from "../data/recording";
import { rowsMatching } from "../data/matching";
import { stackWordsOf } from "../data/stack_words";
import type { Span } from "../state";
import { countedText, timeText } from "../text/format";
import { sumText, timeIn } from "../text/words";
import { useSearch } from "../ui/find";
import { sorting, Table, type Column } from "../ui/table";
import { Finding } from "./finding";
import { StackCell } from "./stack";
import { StackDetail } from "./stack_detail";
import type { ViewProps } from "./view";

const ALL = "all of them";

interface FunctionRow extends DurationFields {
  readonly id: number;
  readonly entry: string;
}

interface Bin {
  readonly fromNs: number;
  readonly calls: number;
}

interface SlowCall extends SlowCallFields {
  readonly id: number;
}

/** Calls by powers of two: a bin ends at twice its start. The first one also contains 0. */
function binsOf(durations: DurationFields): Bin[] {
  const calls = new Map<number, number>();
  for (const [from, , count] of durations.histogram ?? []) {
    const power = Math.floor(Math.log2(Math.max(1, from)));
    calls.set(power, (calls.get(power) ?? 0) + count);
  }
  const powers = [...calls.keys()];
  const least = Math.min(...powers);
  return powers.length === 0
    ? []
    : Array.from({ length: Math.max(...powers) - least + 1 }, (_, i) => ({
        fromNs: 2 ** (least + i),
        calls: calls.get(least + i) ?? 0,
      }));
}

function functionColumns(all: DurationFields): Column<FunctionRow>[] {
  const time = (key: keyof DurationFields, title: string, hint = ""): Column<FunctionRow> => ({
    key,
    title,
    kind: "count",
    value: (row) => Number(row[key] ?? 0),
    show: (row) => timeText(Number(row[key] ?? 0)),
    hint,
  });
  return [
    { key: "entry", title: "Function", kind: "text", value: (row) => row.entry, width: "18%" },
    { key: "calls", title: "Calls", kind: "count", value: (row) => row.calls },
    {
      ...time("total_ns", "Total", "the time of all its calls together"),
      share: (row) => (row.entry === ALL ? 0 : (row.total_ns ?? 0) / Math.max(1, all.total_ns ?? 0)),
    },
    time("mean_ns", "Mean"),
    time("p50_ns", "50 %", "half of the calls took at most this long"),
    time("p90_ns", "90 %", "90 % of the calls took at most this long"),
    time("p99_ns", "99 %", "99 % of the calls took at most this long"),
    time("p99_9_ns", "99.9 %", "99.9 % of the calls took at most this long"),
    time("p99_99_ns", "99.99 %", "99.99 % of the calls took at most this long"),
    time("max_ns", "Longest"),
  ];
}

function Functions({ entries, all, state, change }: ViewProps & Durations): JSX.Element {
  const rows = useMemo(
    () => [...entries.map((row, id) => ({ ...row, id })), { ...all, entry: ALL, id: entries.length }],
    [entries, all],
  );
  const columns = useMemo(() => functionColumns(all), [all]);
  const bins = useMemo(() => binsOf(all), [all]);
  const binColumns = useMemo<Column<Bin>[]>(
    () => [
      {
        key: "took",
        title: "Took",
        kind: "count",
        value: (bin) => bin.fromNs,
        show: (bin) => `${timeText(bin.fromNs)} –`,
        width: "84px",
      },
      {
        key: "calls",
        title: "Calls",
        kind: "count",
        value: (bin) => bin.calls,
        share: (bin) => bin.calls / Math.max(1, all.calls),
      },
    ],
    [all],
  );
  return (
    <div class="durations">
      <Table
        name="durations"
        columns={columns}
        rows={rows}
        idOf={(row) => row.id}
        {...sorting({ state, change }, "total_ns-")}
      />
      <Table
        name="histogram"
        columns={binColumns}
        rows={bins}
        idOf={(bin) => bin.fromNs}
        sort=""
        onSort={() => undefined}
        sorts={false}
      />
    </div>
  );
}

function blockOf({ stack_of }: SlowCall): string {
  return stack_of === "block" ? "block of " : "";
}

function slowColumns(recording: ViewProps["recording"], most: number): Column<SlowCall>[] {
  return [
    {
      key: "took_ns",
      title: "Took",
      kind: "count",
      value: (call) => call.took_ns,
      show: (call) => timeText(call.took_ns),
      share: (call) => call.took_ns / most,
      width: "96px",
    },
    {
      key: "time_ns",
      title: "When",
      kind: "count",
      value: (call) => call.time_ns,
      show: (call) => timeIn(recording, call.time_ns),
      width: "88px",
    },
    { key: "entry", title: "Function", kind: "text", value: (call) => call.entry, width: "152px" },
    { key: "size", title: "Size", kind: "bytes", value: (call) => call.size, width: "88px" },
    { key: "thread", title: "Thread", kind: "text", value: (call) => call.thread, width: "112px" },
    {
      key: "stack",
      title: "Called by",
      kind: "text",
      value: (call) => (call.row === undefined ? "" : blockOf(call) + stackWordsOf(recording).text(call.row)),
      show: (call) => (call.row === undefined ? "" : <StackCell recording={recording} row={call.row} before={blockOf(call)} />),
      hint: "for a free, whose stack is not recorded: the stack that allocated its block",
    },
  ];
}

function Slowest(props: ViewProps): JSX.Element {
  const { recording, state, change } = props;
  const { span } = state;
  const search = useSearch(state.find);
  const kept = useMemo(() => rowsMatching(recording, search), [recording, search]);
  const calls = useMemo(() => {
    const all = (recording.document.slowest_calls ?? []).map((call, id) => ({ ...call, id }));
    const { edgesNs } = recording;
    const { since, to } = span === null ? { since: 0, to: edgesNs.length - 1 } : recording.edgesOf(span);
    const fromNs = edgesNs[since]!;
    const toNs = to === edgesNs.length - 1 ? Infinity : edgesNs[to]!;
    return all.filter(
      ({ time_ns, row }) =>
        fromNs <= time_ns &&
        time_ns < toNs &&
        (row === undefined || !recording.isIgnored(row)) &&
        (kept === null || (row !== undefined && kept[row] === 1)),
    );
  }, [recording, span, kept]);
  const columns = useMemo(() => slowColumns(recording, calls[0]?.took_ns ?? 1), [recording, calls]);
  const chosen = calls.find(({ id }) => id === state.row) ?? calls[0];
  return (
    <div class={chosen?.row === undefined ? "alone" : "with-detail wide"}>
      <Table
        name="slowest"
        columns={columns}
        rows={calls}
        idOf={(call) => call.id}
        sort={"took_ns-"}
        onSort={() => undefined}
        chosen={chosen?.id ?? -1}
        onChoose={(call) => change({ row: call.id })}
        empty="None of the slowest calls matches."
      />
      {chosen?.row !== undefined && <StackDetail {...props} row={chosen.row} />}
    </div>
  );
}

function whenText(recording: Recording, span: Span | null, isPart: boolean): string {
  if (span === null) return "in the whole run";
  const words = sumText(recording, span);
  return isPart ? words : `in the whole run; below, the slowest ones ${words}`;
}

export function DurationsView(props: ViewProps): JSX.Element {
  const { recording, state } = props;
  const { document } = recording;
  const { span } = state;
  const found = useMemo(() => durationsOf(recording, span), [recording, span]);
  if (document.durations === undefined)
    return (
      <section class="panel">
        <h2>Durations of calls were not recorded</h2>
        <p>
          Record it with <code>heapwright record --durations COMMAND</code>.
        </p>
      </section>
    );
  return (
    <>
      <div class="toolbar">
        <h2>How long {countedText(found.all.calls, "call")} took</h2>
        <span class="faint">
          {whenText(recording, span, found.isPart)}; of each up to {timeText(document.clock_cost_ns ?? 0)} is the reading of the clock
        </span>
        <Finding {...props} result="" />
      </div>
      <Functions {...props} {...found} />
      <Slowest {...props} />
    </>
  );
}
