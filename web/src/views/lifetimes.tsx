// lifetimes.tsx - how long blocks lived: for the run, and for each stack
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { LIFETIMES, type Lifetime, type RunFields } from "../data/document";
import { errorOfSum } from "../data/errors";
import { rowsMatching } from "../data/matching";
import { ENDED } from "../data/series";
import { stackWordsOf } from "../data/stack_words";
import { countText, countedText, estimateText, shareText } from "../text/format";
import { isMoment, type Span, type State } from "../state";
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

function nameOf(lifetime: Lifetime, span: Span | null): string {
  return span !== null && lifetime === "until_end" ? "Not freed" : NAMES[lifetime];
}

function whichBlocks(span: Span | null): string {
  if (span === null) return "of the whole run";
  return isMoment(span) ? "allocated until then" : "freed in the interval, or live at its end";
}

function nothingText({ ignore }: State): string {
  return `No ${ignore === "" ? "" : "other "}block was freed here, and none is left.`;
}

/** The steps up to the longest lifetime in the run, so that columns are constant while an interval is dragged. */
function stepsOf({ lifetimes }: RunFields): readonly Lifetime[] {
  const longest = Math.max(...ENDED.map((lifetime, step) => (lifetimes[lifetime] > 0 ? step : 0)));
  return [...ENDED.slice(0, longest + 1), "until_end"];
}

function sumOf(columns: readonly Float64Array[]): Float64Array {
  const sums = new Float64Array(columns[0]!.length);
  for (const column of columns) for (let row = 0; row < sums.length; row++) sums[row]! += column[row]!;
  return sums;
}

function totalsOf(lifetimes: Record<Lifetime, Float64Array>): Record<Lifetime, number> {
  const made: Partial<Record<Lifetime, number>> = {};
  for (const lifetime of LIFETIMES) made[lifetime] = lifetimes[lifetime].reduce((sum, count) => sum + count, 0);
  return made as Record<Lifetime, number>;
}

export function Lifetimes(props: ViewProps): JSX.Element {
  const { recording, state, change, palette } = props;
  const { span } = state;
  const lifetimes = useMemo(() => recording.lifetimes(span), [recording, span]);
  const totals = useMemo(() => totalsOf(lifetimes), [lifetimes]);
  const steps = useMemo(() => stepsOf(recording.document.run), [recording]);
  const blocks = useMemo(() => sumOf(LIFETIMES.map((lifetime) => lifetimes[lifetime])), [lifetimes]);
  const search = useSearch(state.find);
  const kept = useMemo(() => rowsMatching(recording, search), [recording, search]);
  const all = useMemo(() => Array.from(blocks, (_, row) => row).filter((row) => blocks[row]! > 0), [blocks]);
  const rows = useMemo(() => (kept === null ? all : all.filter((row) => kept[row] === 1)), [all, kept]);
  const columns = useMemo<Column<number>[]>(
    () => [
      {
        key: "stack",
        title: "Allocated by",
        kind: "text",
        value: (row) => stackWordsOf(recording).text(row),
        show: (row) => <StackCell recording={recording} row={row} />,
      },
      ...steps.map((lifetime): Column<number> => ({
        key: lifetime,
        title: nameOf(lifetime, span),
        kind: "count",
        value: (row) => lifetimes[lifetime][row]!,
        error: (row) => recording.errorOfPart(row, "count", lifetimes[lifetime][row]!),
        share: (row) => lifetimes[lifetime][row]! / blocks[row]!,
        hint: HINTS[lifetime] ?? "",
      })),
      { key: "blocks", title: "Blocks", kind: "count", value: (row) => blocks[row]!, error: (row) => recording.errorOfPart(row, "count", blocks[row]!), width: "92px" },
    ],
    [recording, lifetimes, blocks, span, steps],
  );
  const most = rows.reduce((best, row) => (blocks[row]! > (blocks[best] ?? -1) ? row : best), -1);
  const chosen = rows.includes(state.row) ? state.row : most;
  const errorOfAll = (counts: Float64Array): number | undefined => errorOfSum(recording.squaresOf("count", counts));
  const total = LIFETIMES.reduce((sum, lifetime) => sum + totals[lifetime], 0);
  return (
    <>
      <section class="panel">
        <div class="toolbar">
          <h2>How long blocks lived</h2>
          <span class="faint">
            {countedText(total, "block", errorOfAll(blocks))} {whichBlocks(span)}
          </span>
          <Finding
            {...{ state, change }}
            result={kept === null ? "" : `${countText(rows.length)} of ${countedText(all.length, "stack")}`}
          />
        </div>
        <div class="share-bar" aria-hidden="true">
          {steps.map((lifetime, i) => (
            <i
              key={lifetime}
              style={{ flexGrow: totals[lifetime], background: ramp(i / (steps.length - 1), palette) }}
            />
          ))}
        </div>
        <ul class="legend">
          {steps.map((lifetime, i) => (
            <li key={lifetime} title={HINTS[lifetime] ?? ""}>
              <i class="swatch" style={{ color: ramp(i / (steps.length - 1), palette) }} />
              <span class="label">{nameOf(lifetime, span)}</span>
              <span class="figure">
                {estimateText("count", totals[lifetime], errorOfAll(lifetimes[lifetime]))} {shareText(totals[lifetime], total)}
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
          {...sorting({ state, change }, "blocks-")}
          chosen={chosen}
          onChoose={(row) => change({ row })}
          empty={all.length > 0 ? "No stack matches." : nothingText(state)}
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
