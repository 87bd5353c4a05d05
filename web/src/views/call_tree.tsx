// call_tree.tsx - a call tree as a table, opened along the largest nodes; the user of this component defines its columns
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { childrenOf, type Branches } from "../data/branching";
import { sortOf, Table, type Column } from "../ui/table";
import { FunctionLabel } from "./function_label";

export type NodeColumn = Column<{ readonly node: number }>;

/** The texts of a node: its full name, its shortened name, and its place. */
export interface NodeWords {
  readonly name: (node: number) => string;
  readonly label: (node: number) => string;
  /** distinguishes it from functions with the same label; "": not needed */
  readonly distinction: (node: number) => string;
  readonly where: (node: number) => string;
}

interface Props {
  readonly tree: Branches;
  /** of the column of names */
  readonly title?: string;
  readonly words: NodeWords;
  readonly colour: (node: number) => string;
  /** the tree opens along these, and is ordered by them if `sort` names no column; nodes with 0 are left out */
  readonly totals: Float64Array;
  readonly columns: readonly NodeColumn[];
  readonly chosen: number;
  readonly onChoose: (node: number) => void;
  readonly sort: string;
  readonly onSort: (sort: string) => void;
  /** absent: there is no such view of a node */
  readonly onSandwich?: (node: number) => void;
}

const [FORK_PX, CHAIN_PX] = [12, 3]; // an only child is indented less, since chains of calls are long
const OPENED_ROWS = 24; // the tree is opened, the largest nodes first, until it has about this many rows
const CRUMB_SHARE = 0.02; // nodes with a smaller share stay closed

interface TreeRow {
  readonly node: number;
  readonly depth: number;
  readonly indentPx: number;
  readonly leaf: boolean;
}

/** The rows of the open part of the tree, in order. */
function treeRows(
  { tree, totals, words, columns, sort }: Props,
  children: readonly number[][],
  open: ReadonlySet<number>,
): TreeRow[] {
  const [column, sign] = sortOf(sort, columns);
  const amount = (node: number): number => Number(column?.value({ node }) ?? totals[node]!);
  const byName = (a: number, b: number): number => sign * words.name(a).localeCompare(words.name(b), "en");
  const order = sort.startsWith("name") ? byName : (a: number, b: number): number => sign * (amount(a) - amount(b)) || a - b;
  const rows: TreeRow[] = [];
  const left: Omit<TreeRow, "leaf">[] = [{ node: 0, depth: 0, indentPx: 0 }];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const { node, depth, indentPx } = next;
    const shown = children[node]!.filter((child) => totals[child]! > 0);
    rows.push({ ...next, leaf: shown.length === 0 });
    if (!open.has(node)) continue;
    shown.sort(order);
    const step = shown.length > 1 ? FORK_PX : CHAIN_PX;
    for (const child of shown.reverse()) left.push({ node: child, depth: depth + 1, indentPx: indentPx + step });
  }
  return tree.parent.length > 1 ? rows : [];
}

/** Opens the largest nodes until the table is full, and the path to the chosen node. */
function openedFor({ tree, totals, chosen }: Props, children: readonly number[][]): Set<number> {
  const open = new Set<number>();
  const closed = [0];
  for (let rows = 1; rows < OPENED_ROWS && closed.length > 0; ) {
    const at = closed.reduce((most, node, i) => (totals[node]! > totals[closed[most]!]! ? i : most), 0);
    const [node] = closed.splice(at, 1) as [number];
    if (node > 0 && totals[node]! < CRUMB_SHARE * totals[0]!) break;
    const shown = children[node]!.filter((child) => totals[child]! > 0);
    open.add(node);
    closed.push(...shown);
    rows += shown.length;
  }
  for (let node = chosen; node > 0; node = tree.parent[node]!) open.add(tree.parent[node]!);
  return open;
}

export function CallTree(props: Props): JSX.Element {
  const { tree, words, colour, totals, chosen, onChoose, sort, onSort } = props;
  const children = childrenOf(tree);
  const [turned, setTurned] = useState<ReadonlyMap<number, boolean>>(new Map());
  const open = useMemo(() => {
    const opened = openedFor(props, children);
    for (const [node, isOpen] of turned) if (isOpen) opened.add(node);
      else opened.delete(node);
    return opened;
  }, [tree, children, totals, chosen, turned]);
  const rows = useMemo(() => treeRows(props, children, open), [totals, sort, open]);
  const turn = (node: number, isOpen: boolean): void => setTurned(new Map(turned).set(node, isOpen));
  const name: Column<TreeRow> = {
    key: "name",
    title: props.title ?? "Function",
    kind: "text",
    value: (row) => "  ".repeat(row.depth) + words.name(row.node),
    show: (row) => (
      <span
        class="stack-line"
        title={`${words.name(row.node).slice(0, 2000)}\n${words.where(row.node)}`}
        style={{ paddingLeft: `${row.indentPx}px` }}
      >
        <i
          class="tree-toggle"
          onClick={(event) => {
            event.stopPropagation();
            turn(row.node, !open.has(row.node));
          }}
        >
          {row.leaf ? "" : open.has(row.node) ? "▾" : "▸"}
        </i>
        <i class="dot" style={{ background: colour(row.node) }} />
        <FunctionLabel label={words.label(row.node)} distinction={words.distinction(row.node)} />
      </span>
    ),
  };
  return (
    <Table
      name="tree"
      columns={[name, ...props.columns]}
      rows={rows}
      idOf={(row) => row.node}
      sort={sort}
      onSort={onSort}
      sorts={false}
      chosen={chosen}
      onChoose={(row) => onChoose(row.node)}
      {...(props.onSandwich && { onOpen: (row: TreeRow) => props.onSandwich?.(row.node) })}
      onKey={(event, row) => {
        const isOpen = open.has(row.node);
        if (event.key === "ArrowRight" && !isOpen) turn(row.node, true);
        else if (event.key === "ArrowRight" && !row.leaf) onChoose(rows[rows.indexOf(row) + 1]!.node);
        else if (event.key === "ArrowLeft" && isOpen && !row.leaf) turn(row.node, false);
        else if (event.key === "ArrowLeft" && row.node > 0) onChoose(tree.parent[row.node]!);
        else if (event.key === "s" && props.onSandwich) props.onSandwich(row.node);
        else return;
        event.preventDefault();
      }}
      empty="Nothing was allocated here."
    />
  );
}
