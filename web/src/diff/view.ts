// view.ts - the properties that every view of a difference gets, and texts and shares of changes
import { useMemo } from "preact/hooks";
import type { Difference, Pair } from "../data/difference";
import { errorOf } from "../data/errors";
import type { Recording } from "../data/recording";
import type { Cost, State } from "../state";
import { isBytes } from "../text/words";
import { countText } from "../text/format";
import type { Change } from "../ui/location";
import type { Palette } from "../ui/palette";

export interface DiffProps {
  readonly difference: Difference;
  readonly state: State;
  readonly change: Change;
  readonly palette: Palette;
}

export interface DiffAmounts {
  readonly self: Pair;
  readonly totals: Pair;
  /** by node, the larger amount of both runs, which is the node's width; and the total with all nodes below */
  readonly wide: Float64Array;
  readonly wideTotals: Float64Array;
  /** of the errors; undefined: both runs are exact */
  readonly squares: { readonly self: Pair | undefined; readonly totals: Pair | undefined };
}

export function useAmounts({ difference, state: { cost, span } }: DiffProps): DiffAmounts {
  return useMemo(() => {
    const self = difference.self(cost, span);
    const wide = self.now.map((amount, node) => Math.max(amount, self.old[node]!));
    const wideTotals = difference.totals({ old: wide, now: wide }).now;
    const squares = difference.squares(cost, span);
    return { self, totals: difference.totals(self), wide, wideTotals, squares: { self: squares, totals: squares && difference.totals(squares) } };
  }, [difference, cost, span]);
}

/** The errors of the amounts of both runs, and of the change; undefined: exact. */
export interface PairErrors {
  readonly old: number | undefined;
  readonly now: number | undefined;
  readonly change: number | undefined;
}

export function pairErrors(difference: Difference, cost: Cost, pair: Pair, squares: Pair | undefined, at: number): PairErrors {
  if (squares === undefined) return { old: undefined, now: undefined, change: undefined };
  const of = (recording: Recording, square: number): number | undefined => (recording.isSampled ? errorOf(square) : undefined);
  const missed = isBytes(cost) ? difference.missedBytes(pair.old[at]!, pair.now[at]!) : 0;
  return {
    old: of(difference.old, squares.old[at]!),
    now: of(difference.now, squares.now[at]!),
    change: Math.max(missed, errorOf(squares.old[at]! + squares.now[at]!)),
  };
}

/** The number of functions that a search found. */
export function functionsText(matched: Uint8Array): string {
  const count = matched.reduce((sum, hit) => sum + hit, 0);
  return count === 0 ? "no match" : count === 1 ? "1 function" : `${countText(count)} functions`;
}

/** "+10.0 kB", "−3"; "" if nothing changed */
export function changeText(change: number, words: (amount: number) => string): string {
  return change === 0 ? "" : change > 0 ? `+${words(change)}` : `−${words(-change)}`;
}

/** The change as a share of the larger amount: -1 is gone, 1 new. */
export function changeShare({ old, now }: Pair, at: number): number {
  return (now[at]! - old[at]!) / Math.max(old[at]!, now[at]!, 1);
}
