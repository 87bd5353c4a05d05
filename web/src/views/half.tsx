// half.tsx - one half of a sandwich: all callers of a function, upwards, or all its callees
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { errorAt, type Squares } from "../data/errors";
import { mergedAmounts, type Merged } from "../data/sandwich";
import { totalsOf } from "../data/tree";
import { FlameGraph, type GraphSource } from "../flame/graph";
import type { Palette } from "../ui/palette";

interface Props {
  readonly merged: Merged;
  readonly upwards: boolean;
  /** amounts that merged nodes take from the tree's nodes: totals for callers, own amounts for callees */
  readonly taken: Float64Array;
  readonly takenOrder: Float64Array;
  /** of the errors of the amounts that are taken */
  readonly squares?: Squares;
  /** of a function */
  readonly label: (func: number) => string;
  readonly fill: (node: number) => string;
  readonly describe: (node: number, total: number, error: number | undefined) => JSX.Element;
  readonly onOpen: (func: number) => void;
  readonly palette: Palette;
}

export function Half({ merged, upwards, taken, takenOrder, squares, label, fill, describe, onOpen, palette }: Props): JSX.Element {
  const fresh = { in: merged, chosen: -1, zoom: 0 }; // the state for another function
  const [looked, lookAt] = useState(fresh);
  const now = (before: typeof fresh): typeof fresh => (before.in === merged ? before : fresh);
  const { chosen, zoom } = now(looked);
  const setZoom = (node: number): void => lookAt((before) => ({ ...now(before), zoom: node }));
  const order = useMemo(() => totalsOf(merged.parent, mergedAmounts(merged, takenOrder)), [merged, takenOrder]);
  const totals = useMemo(() => totalsOf(merged.parent, mergedAmounts(merged, taken)), [merged, taken]);
  const errors = useMemo(() => squares && totalsOf(merged.parent, mergedAmounts(merged, squares)), [merged, squares]);
  const source = useMemo<GraphSource>(
    () => ({ tree: merged, totals, order, label: (node) => label(merged.func[node]!), fill, found: null }),
    [merged, totals, order, fill],
  );
  return (
    <div class="flame-frame">
      <div class="crumbs">
        {upwards ? "Callers" : "Callees"} of {label(merged.func[0]!)}
        {zoom > 0 && (
          <button type="button" onClick={() => setZoom(0)}>
            ✕ zoom
          </button>
        )}
      </div>
      <FlameGraph
        name={upwards ? "callers" : "callees"}
        source={source}
        palette={palette}
        zoom={zoom}
        chosen={chosen}
        upwards={upwards}
        onZoom={setZoom}
        onChoose={(node) => lookAt((before) => ({ ...now(before), chosen: node }))}
        onOpen={(node) => onOpen(merged.func[node]!)}
        describe={(node) => describe(node, totals[node]!, errorAt(errors, node))}
      />
    </div>
  );
}
