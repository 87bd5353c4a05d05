// durations.tsx - durations of calls in both runs, by function
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { Difference } from "../data/difference";
import type { DurationFields } from "../data/document";
import { durationsOf, type Durations } from "../data/durations";
import type { Span } from "../state";
import { countText, countedText, timeText } from "../text/format";
import { sumText } from "../text/words";
import { sorting, Table, type Column } from "../ui/table";
import { changeText, type DiffProps } from "./view";

const NOTHING: DurationFields = { calls: 0, untimed_calls: 0 };

interface Row {
  readonly id: number;
  readonly entry: string;
  readonly old: DurationFields;
  readonly now: DurationFields;
}

export function hasDurations({ old, now }: Difference): boolean {
  return old.document.durations !== undefined && now.document.durations !== undefined;
}

/** The durations of the same part of both runs, or of both whole runs. */
function durationsOfBoth({ old, now }: Difference, span: Span | null): { readonly old: Durations; readonly now: Durations } {
  const of = (part: Span | null): { old: Durations; now: Durations } => ({
    old: durationsOf(old, part),
    now: durationsOf(now, part),
  });
  const found = of(span);
  return found.old.isPart === found.now.isPart ? found : of(null);
}

/** A row for each function that either run called, and the last one for all of them. */
function rowsOf(old: Durations, now: Durations): Row[] {
  const of = ({ entries }: Durations): Map<string, DurationFields> => new Map(entries.map((row) => [row.entry, row]));
  const [before, after] = [of(old), of(now)];
  const entries = [...new Set([...before.keys(), ...after.keys()])];
  const rows = entries.map((entry, id) => ({ id, entry, old: before.get(entry) ?? NOTHING, now: after.get(entry) ?? NOTHING }));
  return [...rows, { id: rows.length, entry: "all of them", old: old.all, now: now.all }];
}

type Time = "total_ns" | "mean_ns" | "p99_ns" | "max_ns";

/** Columns for old and new; and for the change, if the figure is not from a single call. */
function timeColumns(key: Time, title: string, hint: string, changes: boolean): Column<Row>[] {
  const column = (part: string, value: (row: Row) => number, words: (ns: number) => string): Column<Row> => ({
    key: `${key}_${part}`,
    title: `${title} ${part}`,
    kind: "count",
    value,
    show: (row) => words(value(row)),
    hint,
  });
  const change = ({ old, now }: Row): number => (now[key] ?? 0) - (old[key] ?? 0);
  return [
    column("old", ({ old }) => old[key] ?? 0, timeText),
    column("new", ({ now }) => now[key] ?? 0, timeText),
    ...(changes ? [column("±", change, (ns) => changeText(ns, timeText))] : []),
  ];
}

const COLUMNS: readonly Column<Row>[] = [
  { key: "entry", title: "Function", kind: "text", value: ({ entry }) => entry, width: "128px" },
  { key: "calls_old", title: "Calls old", kind: "count", value: ({ old }) => old.calls },
  { key: "calls_new", title: "Calls new", kind: "count", value: ({ now }) => now.calls },
  ...timeColumns("mean_ns", "Mean", "the time of one call, on average", true),
  ...timeColumns("p99_ns", "99 %", "99 % of the calls took at most this long", false),
  ...timeColumns("max_ns", "Longest", "the longest call", false),
  ...timeColumns("total_ns", "Total", "the time of all its calls together", true),
];

export function DiffDurations({ difference, state, change }: DiffProps): JSX.Element {
  const { span } = state;
  const found = useMemo(() => durationsOfBoth(difference, span), [difference, span]);
  const rows = useMemo(() => rowsOf(found.old, found.now), [found]);
  const { old, now } = rows[rows.length - 1]!;
  return (
    <>
      <div class="toolbar">
        <h2>How long calls took</h2>
        <span class="faint">
          {countedText(old.calls, "call")} of the old run, {countText(now.calls)} of the new one
          {span !== null && found.old.isPart ? `, ${sumText(difference.longer, span)}` : "; in the whole runs"}
        </span>
      </div>
      <Table
        name="durations"
        columns={COLUMNS}
        rows={rows}
        idOf={(row) => row.id}
        {...sorting({ state, change })}
        chosen={state.row}
        onChoose={(row) => change({ row: row.id })}
      />
    </>
  );
}
