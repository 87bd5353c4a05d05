// view.ts - what every view of a difference gets, and what both runs cost, for whatever is shown
import { useMemo } from "preact/hooks";
import type { Difference, Pair } from "../data/difference";
import type { State } from "../state";
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
  /** of each node the larger of both runs, which is how wide it is; and with all below it */
  readonly wide: Float64Array;
  readonly wideTotals: Float64Array;
}

export function useAmounts({ difference, state: { cost, span } }: DiffProps): DiffAmounts {
  return useMemo(() => {
    const self = difference.self(cost, span);
    const wide = self.now.map((amount, node) => Math.max(amount, self.old[node]!));
    const wideTotals = difference.totals({ old: wide, now: wide }).now;
    return { self, totals: difference.totals(self), wide, wideTotals };
  }, [difference, cost, span]);
}

/** How many functions a search found. */
export function functionsText(matched: Uint8Array): string {
  const count = matched.reduce((sum, hit) => sum + hit, 0);
  return count === 0 ? "no match" : count === 1 ? "1 function" : `${countText(count)} functions`;
}

/** "+10.0 kB", "−3"; "" where nothing changed */
export function changeText(change: number, words: (amount: number) => string): string {
  return change === 0 ? "" : change > 0 ? `+${words(change)}` : `−${words(-change)}`;
}

/** What changed, as a share of the larger: -1 is gone, 1 new. */
export function changeShare({ old, now }: Pair, at: number): number {
  return (now[at]! - old[at]!) / Math.max(old[at]!, now[at]!, 1);
}
