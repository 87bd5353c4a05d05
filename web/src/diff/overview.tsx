// overview.tsx - the figures of two runs side by side, their curves in one chart, and the functions that changed
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { RunFields } from "../data/document";
import type { Difference } from "../data/difference";
import { matchingOf } from "../data/matching";
import { amountText, errorText, shareText, timeText, type Kind } from "../text/format";
import { COST_NAMES } from "../text/words";
import { FigureList, type Figure } from "../ui/figure_list";
import { useSearch } from "../ui/find";
import { Finding } from "../views/finding";
import { Changes } from "./changes";
import { Curves } from "./curves";
import { changeText, functionsText, useAmounts, type DiffProps } from "./view";

const FIGURES: readonly (readonly [string, keyof RunFields, Kind | "time"])[] = [
  ["Peak", "peak_bytes", "bytes"],
  ["Blocks at peak", "peak_blocks", "count"],
  ["At the end", "live_bytes_at_end", "bytes"],
  ["Allocations", "allocation_calls", "count"],
  ["Allocated", "allocated_bytes", "bytes"],
  ["Temporary", "temporary_calls", "count"],
  ["Failed", "failed_calls", "count"],
  ["Duration", "duration_ns", "time"],
];

/** The error of a run's figure; undefined: it is exact. */
function errorIn(run: RunFields, key: string): number | undefined {
  return (run as unknown as Readonly<Record<string, number | undefined>>)[`${key}_error`];
}

function Figures({ difference }: { difference: Difference }): JSX.Element {
  const [old, now] = [difference.old.document.run, difference.now.document.run];
  const figures = FIGURES.map(([name, key, kind]): Figure => {
    const [before, after] = [Number(old[key]), Number(now[key])];
    const words = (amount: number): string => (kind === "time" ? timeText(amount) : amountText(kind, amount));
    const [errorBefore, errorAfter] = [errorIn(old, key), errorIn(now, key)];
    const isExact = kind === "time" || (errorBefore === undefined && errorAfter === undefined);
    const missed = kind === "bytes" ? difference.missedBytes(before, after) : 0;
    const ofChange = isExact ? "" : errorText(kind, after - before, Math.max(missed, Math.hypot(errorBefore ?? 0, errorAfter ?? 0)));
    const change = changeText(after - before, words);
    const share = changeText(after - before, (amount) => shareText(amount, before));
    const note = change === "" ? "unchanged" : `${change}${ofChange === "" ? "" : ` ${ofChange}`}${share === "" ? "" : `, ${share}`}`;
    return { name, value: words(after), error: kind === "time" ? "" : errorText(kind, after, errorAfter), note };
  });
  return <FigureList figures={figures} />;
}

export function DiffOverview(props: DiffProps): JSX.Element {
  const { difference, state, change } = props;
  const amounts = useAmounts(props);
  const search = useSearch(state.find);
  const matched = useMemo(() => matchingOf(difference.functions, search), [difference, search]);
  const found = matched === null ? "" : functionsText(matched);
  const isEmpty = [difference.old, difference.now].every(({ document }) => document.run.allocation_calls === 0);
  return (
    <div class="stack-v">
      <Figures difference={difference} />
      {state.span !== null && <p class="faint">These figures are for the whole runs.</p>}
      {isEmpty ? (
        <section class="panel nothing">
          <h2>Neither run allocated anything</h2>
        </section>
      ) : (
        <Curves {...props} />
      )}
      <div class="tall">
        <div class="toolbar">
          <h2>Functions that changed</h2>
          <span class="faint">
            {COST_NAMES[state.cost]}
            {state.span === null ? "" : ", over the chosen time of both runs"}
          </span>
          <Finding {...{ state, change }} result={found} />
        </div>
        <Changes {...props} amounts={amounts} matched={matched} chosen={state.row} onChoose={(row) => change({ row })} />
      </div>
    </div>
  );
}
