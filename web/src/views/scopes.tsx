// scopes.tsx - what was allocated and freed in the scopes that the program marked: by path, and instance by instance
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { instancesOf } from "../data/instances";
import type { Recording } from "../data/recording";
import { scopeFiguresOf, type ScopeFigures } from "../data/scope_figures";
import { scopesOf, type Scopes } from "../data/scopes";
import { SCOPE_PARTS, SCOPE_SHAPES, type ScopePart, type ScopeShape, type Span } from "../state";
import { countText, timeText } from "../text/format";
import { changeText } from "../text/scopes";
import { sumText } from "../text/words";
import { Choices } from "../ui/choices";
import { Find, useSearch } from "../ui/find";
import { Later } from "../ui/later";
import { sorting, Table, type Column } from "../ui/table";
import { CallTree } from "./call_tree";
import { ScopeInstances } from "./scope_instances";
import { scopeFills } from "./thread_lanes";
import type { ViewProps } from "./view";

const SHAPE_NAMES: Readonly<Record<ScopeShape, string>> = { table: "Table", tree: "Tree" };
const PART_NAMES: Readonly<Record<ScopePart, string>> = { all: "with those inside", self: "self" };
const ROOT = "all scopes";

/** A node of the tree: 0 is all of them, n the path n - 1. */
interface Node {
  readonly node: number;
}

type Figure = (node: number) => number;

/** The root has the sum of the outermost paths, or of all, or the largest value. */
function figureOf({ outer }: Scopes, values: Float64Array, root: "outermost" | "all" | "largest"): Figure {
  const wanted = [...values].filter((_value, row) => root !== "outermost" || outer[row]! < 0);
  const whole = wanted.reduce((so, value) => (root === "largest" ? Math.max(so, value) : so + value), 0);
  return (node) => (node === 0 ? whole : values[node - 1]!);
}

function columnsOf(recording: Recording, scopes: Scopes, figures: ScopeFigures, part: ScopePart): Column<Node>[] {
  const sum = (values: Float64Array): Figure => figureOf(scopes, values, part === "self" ? "all" : "outermost");
  const most = (values: Float64Array): Figure => figureOf(scopes, values, "largest");
  const column = (key: string, title: string, kind: "bytes" | "count", figure: Figure, hint = ""): Column<Node> => ({
    key,
    title,
    kind,
    value: ({ node }) => figure(node),
    hint,
  });
  /** of calls and bytes: estimates in a sample */
  const estimate = (...[key, title, kind, figure, hint]: Parameters<typeof column>): Column<Node> => ({
    ...column(key, title, kind, figure, hint),
    error: ({ node }) => recording.errorAtMean(kind, figure(node)),
  });
  const time = (key: string, title: string, figure: Figure, hint = ""): Column<Node> => ({
    ...column(key, title, "count", figure, hint),
    show: ({ node }) => timeText(figure(node)),
  });
  const [instances, duration, bytes] = [figureOf(scopes, figures.instances, "all"), sum(figures.duration_ns), sum(figures.allocated_bytes)];
  const net = sum(figures.net_bytes);
  const { ofRun } = figures;
  return [
    column("instances", "Instances", "count", instances, "how often the scope began"),
    time("total", "Total", duration, "the time of all its instances together"),
    time("mean", "Mean", (node) => (instances(node) > 0 ? duration(node) / instances(node) : 0)),
    time("longest", "Longest", most(figures.max_duration_ns), "with the scopes inside"),
    estimate("calls", "Calls", "count", sum(figures.allocation_calls), "allocations"),
    { ...estimate("bytes", "Allocated", "bytes", bytes), share: ({ node }) => bytes(node) / Math.max(1, bytes(0)) },
    {
      ...estimate("net", "Net", "bytes", net, "what was allocated in it less what was freed in it, whosever blocks those were"),
      show: ({ node }) => changeText(net(node)),
    },
    estimate("most", "Most in one", "bytes", most(figures.max_net_bytes), "the most net bytes of one instance at a time, with the scopes inside"),
    ...(ofRun === null
      ? []
      : [
          estimate("temporary", "Temporary", "count", sum(ofRun.temporary_calls), "allocations freed before the next one"),
          estimate("peak", "At the peak", "bytes", sum(ofRun.peak_bytes)),
          estimate("live", "At the end", "bytes", sum(ofRun.live_bytes_at_end)),
        ]),
  ];
}

function heading({ count, recorded }: Scopes): string {
  if (count < recorded) return `The ${countText(count)} of ${countText(recorded)} paths of scopes that allocated most`;
  return count === 1 ? "1 path of scopes" : `${countText(count)} paths of scopes`;
}

/** Whose figures are shown. A page does not have all instances of a long run. */
function partText(recording: Recording, span: Span | null): string {
  const began = `instances that began ${span === null ? "in this thread" : sumText(recording, span)}`;
  const { count, recorded } = instancesOf(recording.document)!;
  return count === recorded ? began : `${began}; the page has ${countText(count)} of all ${countText(recorded)}`;
}

interface ShownProps extends ViewProps {
  readonly scopes: Scopes;
  readonly columns: readonly Column<Node>[];
  /** the nodes that the search found */
  readonly found: readonly Node[];
  readonly chosen: number;
  readonly colours: readonly string[];
}

function Paths({ scopes, columns, found, chosen, colours, state, change }: ShownProps): JSX.Element {
  const path = useMemo<Column<Node>>(
    () => ({
      key: "path",
      title: "Scope",
      kind: "text",
      value: ({ node }) => scopes.paths[node - 1]!,
      show: ({ node }) => (
        <span class="stack-line" title={scopes.paths[node - 1]}>
          <i class="dot" style={{ background: colours[node - 1] ?? "" }} />
          <span class="asks">{scopes.paths[node - 1]}</span>
        </span>
      ),
    }),
    [scopes, colours],
  );
  return (
    <Table
      name="scopes"
      columns={[path, ...columns]}
      rows={found}
      idOf={({ node }) => node}
      {...sorting({ state, change }, "bytes-")}
      chosen={chosen + 1}
      onChoose={({ node }) => change({ row: node - 1 })}
      empty="No scope matches."
    />
  );
}

/** The found paths and those around them. */
function PathTree({ scopes, columns, found, chosen, colours, state, change }: ShownProps): JSX.Element {
  const totals = useMemo(() => {
    const shown = new Float64Array(scopes.count + 1);
    for (const { node } of found) for (let at = node; at >= 0 && shown[at] === 0; at = scopes.tree.parent[at]!) shown[at] = 1;
    return shown;
  }, [scopes, found]);
  const name = (node: number): string => (node === 0 ? ROOT : scopes.names[node - 1]!);
  return (
    <CallTree
      tree={scopes.tree}
      title="Scope"
      words={{ name, label: name, distinction: () => "", where: (node) => scopes.paths[node - 1] ?? "" }}
      colour={(node) => colours[node - 1] ?? "transparent"}
      totals={totals}
      columns={columns}
      chosen={chosen + 1}
      onChoose={(node) => change({ row: node - 1 })}
      {...sorting({ state, change }, "bytes-")}
    />
  );
}

export function ScopesView(props: ViewProps): JSX.Element {
  const { recording, state, change, palette } = props;
  const { part, span } = state;
  const scopes = scopesOf(recording.document);
  const figures = useMemo(() => scopeFiguresOf(recording, part, span), [recording, part, span]);
  const columns = useMemo(() => (scopes && figures ? columnsOf(recording, scopes, figures, part) : []), [scopes, figures]);
  const search = useSearch(state.find);
  const found = useMemo<Node[]>(
    () =>
      (scopes?.paths ?? [])
        .map((path, row) => ({ node: row + 1, path }))
        .filter(({ node, path }) => (search.matches?.(path) ?? true) && (figures?.ofRun !== null || figures.instances[node - 1]! > 0)),
    [scopes, figures, search],
  );
  const colours = useMemo(() => (scopes === null ? [] : scopeFills(scopes, palette).full), [scopes, palette]);
  if (scopes === null || figures === null) return <></>; // the view is not offered
  const bytes = figures.allocated_bytes;
  const largest = found.reduce((most, { node }) => (most < 0 || bytes[node - 1]! > bytes[most]! ? node - 1 : most), -1);
  const chosen = state.row >= 0 && state.row < scopes.count ? state.row : largest;
  const shown: ShownProps = { ...props, scopes, columns, found, chosen, colours };
  return (
    <>
      <div class="toolbar">
        <h2>{heading(scopes)}</h2>
        <Choices
          label=""
          choices={SCOPE_SHAPES.map((shape) => [shape, SHAPE_NAMES[shape]])}
          chosen={state.shape}
          onChoose={(shape) => change({ shape, sort: "" })}
        />
        <Choices
          label="Figures"
          choices={SCOPE_PARTS.map((choice) => [choice, PART_NAMES[choice]])}
          chosen={part}
          onChoose={(choice) => change({ part: choice })}
        />
        <Find kind="scope" pattern={state.find} onPattern={(find) => change({ find })} result={search.matches === null ? "" : `${countText(found.length)} found`} />
        {figures.ofRun === null && <span class="faint">{partText(recording, span)}</span>}
      </div>
      <div class="scopes-view">
        {state.shape === "table" ? <Paths {...shown} /> : <PathTree {...shown} />}
        {chosen >= 0 && (
          <Later room={<div class="table-frame" />}>
            <ScopeInstances {...props} scopes={scopes} scope={chosen} />
          </Later>
        )}
      </div>
    </>
  );
}

