// changes.tsx - the functions that changed, as a table
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { functionAmounts, outermost, type FunctionAmounts } from "../data/sandwich";
import { sorting, Table, type Column } from "../ui/table";
import { FunctionLabel } from "../views/function_label";
import { costFigure, kindOf } from "../views/node_names";
import { changeText, pairErrors, type DiffAmounts, type DiffProps, type PairErrors } from "./view";

interface Row {
  readonly id: number; // of the function
  readonly name: string;
  readonly old: number;
  readonly now: number;
  readonly total: number;
  readonly errors: PairErrors;
  readonly totalError: number | undefined;
}

interface Props extends DiffProps {
  readonly amounts: DiffAmounts;
  /** by function; null: there is no search */
  readonly matched: Uint8Array | null;
  readonly chosen: number;
  readonly onChoose: (func: number) => void;
}

function changedFunctions({ difference, amounts, state: { cost } }: Props): Row[] {
  const outer = outermost(difference);
  const old = functionAmounts(difference, outer, amounts.self.old, amounts.totals.old);
  const now = functionAmounts(difference, outer, amounts.self.now, amounts.totals.now);
  const { self: selfSquares, totals: totalSquares } = amounts.squares;
  const squaresOf = (side: "old" | "now"): FunctionAmounts | undefined =>
    selfSquares && totalSquares && functionAmounts(difference, outer, selfSquares[side], totalSquares[side]);
  const [oldSquares, nowSquares] = [squaresOf("old"), squaresOf("now")];
  const errorsOf = (key: "self" | "total", id: number): PairErrors =>
    pairErrors(difference, cost, { old: old[key], now: now[key] }, oldSquares && nowSquares && { old: oldSquares[key], now: nowSquares[key] }, id);
  const all = difference.functions.map((func, id) => ({
    id,
    name: func.name,
    old: old.self[id]!,
    now: now.self[id]!,
    total: now.total[id]! - old.total[id]!,
    errors: errorsOf("self", id),
    totalError: errorsOf("total", id).change,
  }));
  return all.filter((row) => row.old !== row.now || row.total !== 0);
}

export function Changes(props: Props): JSX.Element {
  const { difference, amounts, state, change, matched } = props;
  const changed = useMemo(() => changedFunctions(props), [difference, amounts]);
  const rows = useMemo(() => (matched === null ? changed : changed.filter((row) => matched[row.id] === 1)), [changed, matched]);
  const kind = kindOf(state.cost);
  const signed = (key: string, title: string, value: (row: Row) => number, error: (row: Row) => number | undefined, hint: string): Column<Row> => ({
    key,
    title,
    kind,
    value,
    error,
    show: (row) => changeText(value(row), (amount) => costFigure(state.cost, amount)),
    width: "124px",
    hint,
  });
  const shown = (row: Row): JSX.Element => (
    <span class="stack-line" title={row.name.slice(0, 2000)}>
      <FunctionLabel label={difference.labels.label(row.id)} distinction={difference.labels.distinction(row.id)} />
    </span>
  );
  const columns: Column<Row>[] = [
    { key: "name", title: "Function", kind: "text", value: (row) => row.name, show: (row) => shown(row) },
    { key: "old", title: "Old", kind, value: (row) => row.old, error: ({ errors }) => errors.old, width: "92px", hint: "of the function itself, in the old run" },
    { key: "now", title: "New", kind, value: (row) => row.now, error: ({ errors }) => errors.now, width: "92px", hint: "of the function itself, in the new run" },
    signed("change", "Change", (row) => row.now - row.old, ({ errors }) => errors.change, "of the function itself"),
    signed("total", "With callees", (row) => row.total, (row) => row.totalError, "change of the function and of all its callees"),
  ];
  return (
    <Table
      name="changes"
      columns={columns}
      rows={rows}
      idOf={(row) => row.id}
      {...sorting({ state, change }, "change-")}
      chosen={props.chosen}
      onChoose={(row) => props.onChoose(row.id)}
      onOpen={(row) => change({ view: "flame", mode: "sandwich", of: row.id })}
      empty={matched === null ? "No function changed." : "No function that changed matches."}
    />
  );
}
