// sandwich.tsx - one function of both runs with its callers above and its callees below, next to the list of changed functions
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { Pair } from "../data/difference";
import { calleesOf, callersOf, mergedAmounts, outermost, type Merged } from "../data/sandwich";
import { changeColour } from "../ui/palette";
import { Half } from "../views/half";
import { Changes } from "./changes";
import { PairCard } from "./pair_card";
import { changeShare, pairErrors, type DiffAmounts, type DiffProps } from "./view";

interface Props extends DiffProps {
  readonly amounts: DiffAmounts;
  readonly label: (func: number) => string;
  readonly matched: Uint8Array | null;
}

/** The function whose own amount changed most. */
function mostChanged({ difference, amounts: { self } }: Props): number {
  const changes = new Float64Array(difference.functions.length);
  difference.func.forEach((func, node) => {
    if (func >= 0) changes[func]! += self.now[node]! - self.old[node]!;
  });
  return changes.reduce((most, change, func) => (Math.abs(change) > Math.abs(changes[most] ?? 0) ? func : most), 0);
}

interface MiddleProps extends Props {
  readonly merged: Merged;
  readonly upwards: boolean;
}

function Side({ difference, amounts, state, change, palette, label, merged, upwards }: MiddleProps): JSX.Element {
  const taken: Pair = upwards ? amounts.totals : amounts.self;
  const totals = useMemo(
    () => difference.totals({ old: mergedAmounts(merged, taken.old), now: mergedAmounts(merged, taken.now) }, merged.parent),
    [difference, merged, taken],
  );
  const ofTaken = upwards ? amounts.squares.totals : amounts.squares.self;
  const squares = useMemo(
    () => ofTaken && difference.totals({ old: mergedAmounts(merged, ofTaken.old), now: mergedAmounts(merged, ofTaken.now) }, merged.parent),
    [difference, merged, ofTaken],
  );
  const fill = useMemo(() => (node: number): string => changeColour(changeShare(totals, node), palette), [totals, palette]);
  const wide = upwards ? amounts.wideTotals : amounts.wide;
  return (
    <Half
      merged={merged}
      upwards={upwards}
      taken={wide}
      takenOrder={wide}
      label={label}
      fill={fill}
      describe={(node) => (
        <PairCard
          name={difference.functionName(merged.func[node]!)}
          pair={totals}
          errors={pairErrors(difference, state.cost, totals, squares, node)}
          at={node}
          cost={state.cost}
        />
      )}
      onOpen={(func) => change({ of: func })}
      palette={palette}
    />
  );
}

export function DiffSandwich(props: Props): JSX.Element {
  const { difference, state, change } = props;
  const outer = outermost(difference);
  const middle = state.of >= 0 && state.of < difference.functions.length ? state.of : mostChanged(props);
  const callers = useMemo(() => callersOf(difference, outer, middle), [difference, outer, middle]);
  const callees = useMemo(() => calleesOf(difference, outer, middle), [difference, outer, middle]);
  return (
    <div class="flame-view">
      <div class="halves">
        <Side {...props} key="above" merged={callers} upwards />
        <Side {...props} key="below" merged={callees} upwards={false} />
      </div>
      <Changes {...props} chosen={middle} onChoose={(func) => change({ of: func })} />
    </div>
  );
}
