// sandwich.tsx - the list of functions, and the chosen one with its callers above and its callees below
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { errorAt } from "../data/errors";
import { calleesOf, callersOf, functionAmounts, outermost, type FunctionAmounts, type Merged } from "../data/sandwich";
import type { Cost } from "../state";
import { shareText } from "../text/format";
import { Later } from "../ui/later";
import { tint } from "../ui/palette";
import { sorting, Table, type Column } from "../ui/table";
import { FunctionLabel } from "./function_label";
import { Half } from "./half";
import { costFigure, kindOf, type Amounts, type NodeNames } from "./node_names";
import type { ViewProps } from "./view";

interface Props extends ViewProps {
  readonly names: NodeNames;
  readonly amounts: Amounts;
  readonly order: Float64Array;
  readonly matched: Uint8Array | null;
}

interface CardProps {
  readonly names: NodeNames;
  readonly func: number;
  readonly upwards: boolean;
  readonly cost: Cost;
  readonly total: number;
  readonly error: number | undefined;
  readonly all: number;
}

function MergedCard({ names, func, upwards, cost, total, error, all }: CardProps): JSX.Element {
  return (
    <>
      <div class="function">{names.functionName(func)}</div>
      <div class="where">
        {names.functionFile(func)} {names.functionModule(func)}
      </div>
      <dl>
        <dt>{upwards ? "Called from here" : "Total"}</dt>
        <dd>
          {costFigure(cost, total, error)} <span class="faint">{shareText(total, all)}</span>
        </dd>
      </dl>
    </>
  );
}

function columnsOf({ names, palette, amounts, state }: Props, sums: FunctionAmounts, squares: FunctionAmounts | undefined): Column<number>[] {
  const kind = kindOf(state.cost);
  const all = amounts.totals[0]!;
  return [
    {
      key: "name",
      title: "Function",
      kind: "text",
      value: (func) => names.functionName(func),
      show: (func) => (
        <span class="stack-line" title={names.functionName(func).slice(0, 2000)}>
          <i class="dot" style={{ background: tint(names.functionColour(func), palette) }} />
          <FunctionLabel label={names.functionLabel(func)} distinction={names.functionDistinction(func)} />
        </span>
      ),
    },
    ...(["total", "self"] as const).map((key): Column<number> => ({
      key,
      title: key === "total" ? "Total" : "Self",
      kind,
      value: (func) => sums[key][func]!,
      error: (func) => errorAt(squares?.[key], func),
      share: (func) => sums[key][func]! / all,
      width: "92px",
    })),
    { key: "module", title: "Module", kind: "text", value: (func) => names.functionModule(func), width: "104px" },
  ];
}

export function Sandwich(props: Props): JSX.Element {
  const { recording, state, change, names, amounts, order, matched, palette } = props;
  const { tree } = recording;
  const outer = outermost(tree);
  const sums = useMemo(() => functionAmounts(tree, outer, amounts.self, amounts.totals), [tree, outer, amounts]);
  const rows = useMemo(() => {
    const hits = matched === null ? null : new Set(tree.func.filter((_func, node) => matched[node] === 1));
    return Array.from(tree.functions.keys()).filter((func) => sums.total[func]! > 0 && (hits === null || hits.has(func)));
  }, [tree, sums, matched]);
  const heaviest = useMemo(() => {
    const { self } = sums;
    return rows.reduce((most, func) => (self[func]! > (self[most] ?? -1) ? func : most), -1);
  }, [rows]);
  const middle = state.of >= 0 && state.of < tree.functions.length ? state.of : heaviest;
  const callees = useMemo(() => calleesOf(tree, outer, middle), [tree, outer, middle]);
  const callers = useMemo(() => callersOf(tree, outer, middle), [tree, outer, middle]);
  const orderSelf = useMemo(() => recording.self(recording.costs(state.cost, null)), [recording, state.cost]);
  const fills = useMemo(() => {
    const of = (merged: Merged): ((node: number) => string) => names.fill(palette, (node) => merged.func[node]!);
    return { callers: of(callers), callees: of(callees) };
  }, [names, palette, callers, callees]);
  const all = amounts.totals[0]!;
  const squares = useMemo(() => {
    const { self, totals } = amounts.squares;
    return self && totals && functionAmounts(tree, outer, self, totals);
  }, [tree, outer, amounts]);
  const columns = useMemo(() => columnsOf(props, sums, squares), [names, sums, palette, state.cost]);
  const half = (upwards: boolean): JSX.Element => {
    const merged = upwards ? callers : callees;
    return (
      <Half
        key={String(upwards)}
        merged={merged}
        upwards={upwards}
        taken={upwards ? amounts.totals : amounts.self}
        takenOrder={upwards ? order : orderSelf}
        squares={upwards ? amounts.squares.totals : amounts.squares.self}
        label={(func) => names.functionLabel(func)}
        fill={upwards ? fills.callers : fills.callees}
        describe={(node, total, error) => <MergedCard {...{ names, upwards, total, error, all }} func={merged.func[node]!} cost={state.cost} />}
        onOpen={(func) => change({ of: func })}
        palette={palette}
      />
    );
  };
  return (
    <div class="flame-view">
      <div class="halves">
        {half(true)}
        <Later room={<div class="flame-frame" />}>{half(false)}</Later>
      </div>
      <Later room={<div class="table-frame" />}>
        <Table
          name="functions"
          columns={columns}
          rows={rows}
          idOf={(func) => func}
          {...sorting({ state, change }, "self-")}
          chosen={middle}
          onChoose={(func) => change({ of: func })}
          empty="No function matches."
        />
      </Later>
    </div>
  );
}
