// lifetimes.tsx - how long blocks lived: of the run, and stack by stack
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { LIFETIMES, type Lifetime } from "../data/document";
import { rowsMatching } from "../data/matching";
import { stackWordsOf } from "../data/stack_words";
import { countText, shareText } from "../text/format";
import { useSearch } from "../ui/find";
import { ramp } from "../ui/palette";
import { sorting, Table, type Column } from "../ui/table";
import { Later } from "../ui/later";
import { Finding } from "./finding";
import { StackCell } from "./stack";
import { StackDetail } from "./stack_detail";
import type { ViewProps } from "./view";

const NAMES: Readonly<Record<Lifetime, string>> = {
  temporary: "Temporary",
  below_1ms: "< 1 ms",
  below_1s: "< 1 s",
  below_1min: "< 1 min",
  "1min_or_longer": "≥ 1 min",
  until_end: "To the end",
};

const HINTS: Partial<Record<Lifetime, string>> = {
  temporary: "freed before the same thread allocated again",
  until_end: "not freed",
};

export function Lifetimes(props: ViewProps): JSX.Element {
  const { recording, state, change, palette } = props;
  const { run } = recording.document;
  const lifetimes = useMemo(() => recording.lifetimes(), [recording]);
  const search = useSearch(state.find);
  const rows = useMemo(() => {
    const kept = rowsMatching(recording, search);
    const calls = recording.column("calls");
    const isWhole = recording.document.thread === undefined;
    return Array.from({ length: recording.rows }, (_, row) => row).filter(
      (row) => !recording.isIgnored(row) && (kept === null || kept[row] === 1) && (isWhole || calls[row]! > 0),
    );
  }, [recording, search]);
  const calls = recording.column("calls");
  const columns = useMemo<Column<number>[]>(
    () => [
      {
        key: "stack",
        title: "Allocated by",
        kind: "text",
        value: (row) => stackWordsOf(recording).text(row),
        show: (row) => <StackCell recording={recording} row={row} />,
      },
      ...LIFETIMES.map((lifetime): Column<number> => ({
        key: lifetime,
        title: NAMES[lifetime],
        kind: "count",
        value: (row) => lifetimes[lifetime][row]!,
        share: (row) => lifetimes[lifetime][row]! / Math.max(1, calls[row]!),
        width: NAMES[lifetime].length > 8 ? "108px" : "84px",
        hint: HINTS[lifetime] ?? "",
      })),
      { key: "calls", title: "Calls", kind: "count", value: (row) => calls[row]!, width: "92px" },
    ],
    [recording, lifetimes, calls],
  );
  const most = rows.reduce((best, row) => (calls[row]! > (calls[best] ?? -1) ? row : best), -1);
  const chosen = rows.includes(state.row) ? state.row : most;
  const total = LIFETIMES.reduce((sum, lifetime) => sum + run.lifetimes[lifetime], 0);
  return (
    <>
      <section class="panel">
        <div class="toolbar">
          <h2>How long blocks lived</h2>
          <span class="faint">{countText(total)} blocks of the whole run</span>
          <Finding
            {...{ state, change }}
            result={rows.length < recording.rows ? `${countText(rows.length)} of ${countText(recording.rows)} stacks` : ""}
          />
        </div>
        <div class="share-bar" aria-hidden="true">
          {LIFETIMES.map((lifetime, i) => (
            <i
              key={lifetime}
              style={{ flexGrow: run.lifetimes[lifetime], background: ramp(i / (LIFETIMES.length - 1), palette) }}
            />
          ))}
        </div>
        <ul class="legend">
          {LIFETIMES.map((lifetime, i) => (
            <li key={lifetime} title={HINTS[lifetime] ?? ""}>
              <i class="swatch" style={{ color: ramp(i / (LIFETIMES.length - 1), palette) }} />
              <span class="label">{NAMES[lifetime]}</span>
              <span class="figure">
                {countText(run.lifetimes[lifetime])} {shareText(run.lifetimes[lifetime], total)}
              </span>
            </li>
          ))}
        </ul>
      </section>
      <div class="with-detail wide">
        <Table
          name="lifetimes"
          columns={columns}
          rows={rows}
          idOf={(row) => row}
          {...sorting({ state, change }, "calls-")}
          chosen={chosen}
          onChoose={(row) => change({ row })}
          empty="No stack matches."
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
