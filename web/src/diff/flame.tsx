// flame.tsx - the flame graph of a difference: frames have the width of the larger run and are coloured by the change
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { Difference } from "../data/difference";
import { matchingOf } from "../data/matching";
import { FlameGraph, type GraphSource } from "../flame/graph";
import type { Cost } from "../state";
import { COST_NAMES } from "../text/words";
import { useSearch } from "../ui/find";
import { changeColour, type Palette } from "../ui/palette";
import { sorting } from "../ui/table";
import { CallTree, type NodeColumn, type NodeWords } from "../views/call_tree";
import { Crumbs } from "../views/crumbs";
import { Finding } from "../views/finding";
import { ModeChoice } from "../views/mode_choice";
import { costFigure, kindOf } from "../views/node_names";
import { PairCard } from "./pair_card";
import { DiffSandwich } from "./sandwich";
import { changeShare, changeText, functionsText, pairErrors, useAmounts, type DiffAmounts, type DiffProps, type PairErrors } from "./view";

function Scale({ palette }: { palette: Palette }): JSX.Element {
  return (
    <ul class="legend">
      {([-1, -0.3, 0, 0.3, 1] as const).map((share) => (
        <li key={share}>
          <i class="swatch" style={{ color: changeColour(share, palette) }} />
          <span class="label">{{ "-1": "gone", "-0.3": "less", "0": "unchanged", "0.3": "more", "1": "new" }[share]}</span>
        </li>
      ))}
    </ul>
  );
}

function treeColumns(difference: Difference, { totals, squares }: DiffAmounts, cost: Cost): NodeColumn[] {
  const kind = kindOf(cost);
  const errors = (node: number): PairErrors => pairErrors(difference, cost, totals, squares.totals, node);
  const change = ({ node }: { node: number }): number => totals.now[node]! - totals.old[node]!;
  return [
    { key: "old", title: "Old", kind, value: ({ node }) => totals.old[node]!, error: ({ node }) => errors(node).old, width: "92px" },
    { key: "now", title: "New", kind, value: ({ node }) => totals.now[node]!, error: ({ node }) => errors(node).now, width: "92px" },
    {
      key: "change",
      title: "Change",
      kind,
      value: change,
      error: ({ node }) => errors(node).change,
      show: (row) => changeText(change(row), (amount) => costFigure(cost, amount)),
      width: "108px",
    },
  ];
}

interface ModeProps extends DiffProps {
  readonly amounts: DiffAmounts;
  readonly label: (func: number) => string;
  readonly matched: Uint8Array | null;
}

function wordsOf(difference: Difference, label: (func: number) => string): NodeWords {
  return {
    name: (node) => difference.functionName(difference.func[node]!),
    label: (node) => label(difference.func[node]!),
    distinction: (node) => difference.labels.distinction(difference.func[node]!),
    where: (node) => {
      const func = difference.functions[difference.func[node]!];
      return func === undefined ? "" : func.file === "" ? func.reason : func.file;
    },
  };
}

function Icicle({ difference, state, change, palette, amounts, label, matched }: ModeProps): JSX.Element {
  const { cost, zoom } = state;
  const [chosen, setChosen] = useState(zoom > 0 ? zoom : -1);
  const words = useMemo(() => wordsOf(difference, label), [difference, label]);
  const colour = useMemo(
    () =>
      (node: number): string => changeColour(changeShare(amounts.totals, node), palette),
    [amounts, palette],
  );
  const source = useMemo<GraphSource>(
    () => ({
      tree: difference,
      totals: amounts.wideTotals,
      order: amounts.wideTotals,
      label: words.label,
      fill: colour,
      found: matched && ((node) => matched[difference.func[node]!] === 1),
    }),
    [difference, amounts, words, colour, matched],
  );
  const zoomTo = (node: number): void => change({ zoom: node });
  return (
    <div class="flame-view">
      <div class="flame-frame">
        <Crumbs tree={difference} label={words.label} zoom={zoom} onZoom={zoomTo} />
        <FlameGraph
          name="difference"
          source={source}
          palette={palette}
          zoom={zoom}
          chosen={chosen}
          onZoom={zoomTo}
          onChoose={setChosen}
          onOpen={(node) => change({ mode: "sandwich", of: difference.func[node]! })}
          describe={(node) => (
            <PairCard
              name={words.name(node)}
              pair={amounts.totals}
              errors={pairErrors(difference, cost, amounts.totals, amounts.squares.totals, node)}
              at={node}
              cost={cost}
            />
          )}
        />
        <div class="flame-foot">
          <Scale palette={palette} />
        </div>
      </div>
      <CallTree
        tree={difference}
        words={words}
        colour={colour}
        totals={amounts.wideTotals}
        columns={treeColumns(difference, amounts, cost)}
        chosen={chosen}
        onChoose={setChosen}
        onSandwich={(node) => change({ mode: "sandwich", of: difference.func[node]! })}
        {...sorting({ state, change })}
      />
    </div>
  );
}

export function DiffFlame(props: DiffProps): JSX.Element {
  const { difference, state, change } = props;
  const amounts = useAmounts(props);
  const search = useSearch(state.find);
  const matched = useMemo(() => matchingOf(difference.functions, search), [difference, search]);
  const label = useMemo(() => (func: number) => difference.functionLabel(func), [difference]);
  const found = matched === null ? "" : functionsText(matched);
  const { old, now } = amounts.totals;
  const errors = pairErrors(difference, state.cost, amounts.totals, amounts.squares.totals, 0);
  const mode: ModeProps = { ...props, amounts, label, matched };
  return (
    <>
      <div class="toolbar">
        <ModeChoice state={state} change={change} />
        <Finding {...{ state, change }} result={found} />
        <span class="faint to-right">
          {COST_NAMES[state.cost]}: {costFigure(state.cost, old[0]!, errors.old)} → {costFigure(state.cost, now[0]!, errors.now)}
        </span>
      </div>
      {state.mode === "icicle" ? <Icicle {...mode} /> : <DiffSandwich {...mode} />}
    </>
  );
}
