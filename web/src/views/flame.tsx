// flame.tsx - the call tree and its costs: a flame graph next to a tree, or one function with callers and callees
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { errorAt, errorOf } from "../data/errors";
import { functionsMatching } from "../data/matching";
import type { Recording } from "../data/recording";
import { FlameGraph, type GraphSource } from "../flame/graph";
import type { Cost } from "../state";
import { countText, shareText } from "../text/format";
import { costText } from "../text/words";
import { useSearch } from "../ui/find";
import { Later } from "../ui/later";
import { tint, type Palette } from "../ui/palette";
import { sorting } from "../ui/table";
import { CallTree, type NodeColumn } from "./call_tree";
import { Crumbs } from "./crumbs";
import { Finding } from "./finding";
import { amountsOf, costFigure, kindOf, namesOf, type Amounts, type NodeNames } from "./node_names";
import { ModeChoice } from "./mode_choice";
import { Sandwich } from "./sandwich";
import type { ViewProps } from "./view";

interface CardProps {
  readonly names: NodeNames;
  readonly amounts: Amounts;
  readonly cost: Cost;
  readonly node: number;
}

function NodeCard({ names, amounts, cost, node }: CardProps): JSX.Element {
  const [total, self, all] = [amounts.totals[node]!, amounts.self[node]!, amounts.totals[0]!];
  return (
    <>
      <div class="function">{names.name(node)}</div>
      <div class="where">{names.where(node)}</div>
      <dl>
        <dt>Total</dt>
        <dd>
          {costFigure(cost, total, errorAt(amounts.squares.totals, node))} <span class="faint">{shareText(total, all)}</span>
        </dd>
        <dt>Self</dt>
        <dd>
          {costFigure(cost, self, errorAt(amounts.squares.self, node))} <span class="faint">{shareText(self, all)}</span>
        </dd>
      </dl>
    </>
  );
}

export function ModuleLegend({ names, palette }: { names: NodeNames; palette: Palette }): JSX.Element {
  return (
    <ul class="legend">
      {names.legend().map(([module, colour]) => (
        <li key={module}>
          <i class="swatch" style={{ color: tint(colour, palette) }} />
          <span class="label">{module}</span>
        </li>
      ))}
    </ul>
  );
}

/** The sum of the matching functions; a match within another match counts once. */
function foundText(recording: Recording, { totals, squares }: Amounts, matched: Uint8Array, cost: Cost): string {
  const { parent } = recording.tree;
  const within = new Uint8Array(parent.length);
  let [count, amount, square] = [0, 0, 0];
  matched.forEach((hit, node) => {
    const inside = node > 0 && within[parent[node]!] === 1;
    if (hit && totals[node]! > 0) count++;
    if (hit && !inside) {
      amount += totals[node]!;
      square += squares.totals?.[node] ?? 0;
    }
    within[node] = Number(inside || hit === 1);
  });
  if (count === 0) return "no match";
  const figure = costFigure(cost, amount, squares.totals && errorOf(square));
  return `${countText(count)} frames, ${figure} ${shareText(amount, totals[0]!)}`;
}

function treeColumns({ self, totals, squares }: Amounts, cost: Cost): NodeColumn[] {
  const kind = kindOf(cost);
  const share = ({ node }: { node: number }): number => totals[node]! / totals[0]!;
  return [
    { key: "total", title: "Total", kind, value: ({ node }) => totals[node]!, error: ({ node }) => errorAt(squares.totals, node), share, width: "104px" },
    { key: "share", title: "%", kind: "share", value: share, width: "76px" },
    { key: "self", title: "Self", kind, value: ({ node }) => self[node]!, error: ({ node }) => errorAt(squares.self, node), width: "92px" },
  ];
}

interface ModeProps extends ViewProps {
  readonly names: NodeNames;
  readonly amounts: Amounts;
  readonly order: Float64Array;
  readonly matched: Uint8Array | null;
}

function Icicle({ recording, state, change, palette, names, amounts, order, matched }: ModeProps): JSX.Element {
  const { cost, zoom } = state;
  const [chosen, setChosen] = useState(zoom > 0 ? zoom : -1);
  const source = useMemo<GraphSource>(
    () => ({
      tree: recording.tree,
      totals: amounts.totals,
      order,
      label: (node) => names.label(node),
      fill: names.fill(palette, (node) => recording.tree.func[node]!),
      found: matched && ((node) => matched[node] === 1),
    }),
    [recording, amounts, order, names, matched, palette],
  );
  const zoomTo = (node: number): void => change({ zoom: node });
  return (
    <div class="flame-view">
      <div class="flame-frame">
        <Crumbs tree={recording.tree} label={(node) => names.label(node)} zoom={zoom} onZoom={zoomTo} />
        <FlameGraph
          name="flame"
          source={source}
          palette={palette}
          zoom={zoom}
          chosen={chosen}
          onZoom={zoomTo}
          onChoose={setChosen}
          describe={(node) => <NodeCard {...{ names, amounts, cost, node }} />}
        />
        <div class="flame-foot">
          <ModuleLegend names={names} palette={palette} />
        </div>
      </div>
      <Later room={<div class="table-frame" />}>
        <CallTree
          tree={recording.tree}
          words={names}
          colour={(node) => tint(names.colour(node), palette)}
          totals={amounts.totals}
          columns={treeColumns(amounts, cost)}
          chosen={chosen}
          onChoose={setChosen}
          onSandwich={(node) => change({ mode: "sandwich", of: recording.tree.func[node]! })}
          {...sorting({ state, change }, "total-")}
        />
      </Later>
    </div>
  );
}

export function FlameView(props: ViewProps): JSX.Element {
  const { recording, state, change } = props;
  const { cost, span } = state;
  const names = namesOf(recording);
  const search = useSearch(state.find);
  const amounts = useMemo(() => amountsOf(recording, cost, span), [recording, cost, span]);
  const order = useMemo(() => recording.totals(recording.self(recording.costs(cost, null))), [recording, cost]);
  const matched = useMemo(() => {
    const hits = functionsMatching(recording, search);
    return hits && Uint8Array.from(recording.tree.func, (func) => hits[func] ?? 0);
  }, [recording, search]);
  const found = useMemo(() => (matched === null ? "" : foundText(recording, amounts, matched, cost)), [matched, amounts]);
  const mode: ModeProps = { ...props, names, amounts, order, matched };
  return (
    <>
      <div class="toolbar">
        <ModeChoice state={state} change={change} />
        <Finding {...{ state, change }} result={found} />
        <span class="faint to-right">
          {costFigure(cost, amounts.totals[0]!, errorAt(amounts.squares.totals, 0))} {costText(recording, cost, span)}
        </span>
      </div>
      {state.mode === "icicle" ? <Icicle {...mode} /> : <Sandwich {...mode} />}
    </>
  );
}
