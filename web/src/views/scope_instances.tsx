// scope_instances.tsx - what the instances of one path have in common, the worst of them, and the chosen one
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { ScopeFigure } from "../data/document";
import { instancesOf, worstOf, type Column as InstanceColumn, type Instances } from "../data/instances";
import { wantedIn } from "../data/scope_figures";
import type { Scopes } from "../data/scopes";
import type { Recording } from "../data/recording";
import { countedText, countText, timeText, type Kind } from "../text/format";
import { changeText, instanceName } from "../text/scopes";
import { momentIn } from "../text/words";
import { Table, type Column } from "../ui/table";
import { InstanceDetail } from "./instance_detail";
import { brushed } from "./instance_brush";
import type { ViewProps } from "./view";

const LISTED = 1000;

interface Item {
  readonly instance: number;
}

interface Props extends ViewProps {
  readonly scopes: Scopes;
  readonly scope: number;
}

/** Which instances allocate, in the words of `report --by scope`. */
function allocatingText(scopes: Scopes, scope: number): string {
  const of = (figure: ScopeFigure): number => scopes.column(figure)[scope]!;
  const [instances, allocating, last] = [of("instances"), of("allocating_instances"), of("last_allocating_instance")];
  if (instances === 1) return allocating === 0 ? "its only instance does not allocate" : "its only instance allocates";
  const all = `of ${countText(instances)} instances`;
  const verb = allocating === 1 ? "allocates" : "allocate";
  if (allocating === 0) return `${all} none allocates`;
  if (allocating === instances) return `${all} each allocates`;
  if (allocating === last) return `${all} only the first ${countText(allocating)} ${verb}`;
  return `${all} ${countText(allocating)} ${verb}, the last is number ${countText(last)}`;
}

function aboutText(recording: Recording, scopes: Scopes, scope: number): string[] {
  const of = (figure: ScopeFigure): number => scopes.column(figure)[scope]!;
  const [left, failed] = [of("instances_left_open"), of("failed_calls")];
  const parts = [allocatingText(scopes, scope), countedText(of("free_calls"), "free", recording.errorAtMean("count", of("free_calls")))];
  if (failed > 0) parts.push(countedText(failed, "failed call"));
  if (left > 0) parts.push(`${countText(left)} left without an end`);
  const names = scopes.paths[scope]!;
  const findings = recording.document.findings.filter(({ path }) => path?.join(" > ") === names).map(({ label, text }) => `${label}: ${text}`);
  return [parts.join("; "), ...findings];
}

function columnsOf(recording: Recording, scopes: Scopes, instances: Instances): Column<Item>[] {
  const value = (key: InstanceColumn): ((item: Item) => number) => {
    const values = instances.column(key);
    return ({ instance }) => values[instance]!;
  };
  const time = (key: "begin_ns" | "duration_ns", title: string, text: (ns: number) => string): Column<Item> => {
    const of = value(key);
    return { key, title, kind: "count", value: of, show: (item) => text(of(item)) };
  };
  /** calls and bytes, which are estimates in a sample */
  const estimate = (key: InstanceColumn, title: string, kind: Kind): Column<Item> => {
    const of = value(key);
    return { key, title, kind, value: of, error: (item) => recording.errorAtMean(kind, of(item)) };
  };
  const net = value("net_bytes");
  const sequence = value("sequence");
  const sequenceOf = (item: Item): string => (sequence(item) === 0 ? "–" : countText(sequence(item)));
  return [
    {
      key: "name",
      title: "Instance",
      kind: "text",
      value: ({ instance }) => instanceName(scopes, instances, instance),
    },
    { key: "sequence", title: "#", kind: "count", value: value("sequence"), show: (item) => sequenceOf(item), hint: "which instance of its path it is" },
    { key: "thread", title: "Thread", kind: "word", value: ({ instance }) => instances.laneOf(instance)!.name },
    time("begin_ns", "Began at", momentIn),
    time("duration_ns", "Took", timeText),
    { ...estimate("allocation_calls", "Calls", "count"), hint: "allocations" },
    estimate("free_calls", "Frees", "count"),
    estimate("allocated_bytes", "Allocated", "bytes"),
    { ...estimate("net_bytes", "Net", "bytes"), show: (item) => changeText(net(item)) },
    { ...estimate("max_net_bytes", "At most", "bytes"), hint: "the most net bytes at a time" },
  ];
}

const SORTABLE: readonly string[] = [
  "sequence",
  "begin_ns",
  "duration_ns",
  "allocation_calls",
  "free_calls",
  "allocated_bytes",
  "net_bytes",
  "max_net_bytes",
] satisfies InstanceColumn[];

/** The first of the instances in the order of the table. */
function itemsOf(recording: Recording, instances: Instances, scope: number, sort: string, span: ViewProps["state"]["span"]): Item[] {
  const scopeOf = instances.column("scope");
  const isWanted = wantedIn(recording, instances, span);
  const own = instances.column(sort.slice(0, -1) as InstanceColumn);
  const values = sort.endsWith("+") ? own.map((value) => -value) : own;
  return worstOf(values, (instance) => scopeOf[instance] === scope && isWanted(instance), LISTED).map((instance) => ({ instance }));
}

export function ScopeInstances(props: Props): JSX.Element {
  const { recording, state, change, scopes, scope } = props;
  const [sort, setSort] = useState("max_net_bytes-");
  const instances = instancesOf(recording.document);
  const columns = useMemo(() => (instances === null ? [] : columnsOf(recording, scopes, instances)), [recording, instances, scopes]);
  const items = useMemo(
    () => (instances === null ? [] : itemsOf(recording, instances, scope, sort, state.span)),
    [recording, instances, scope, sort, state.span],
  );
  return (
    <section class="scope">
      <div class="scope-head">
        <h2 class="code">{scopes.paths[scope]}</h2>
        {aboutText(recording, scopes, scope).map((text) => (
          <span key={text}>{text}</span>
        ))}
        {items.length === LISTED && <span class="faint">the first {countText(LISTED)} in this order are listed</span>}
      </div>
      <div class={state.instance >= 0 ? "with-detail" : "alone"}>
        <Table
          name="instances"
          columns={columns}
          rows={items}
          idOf={({ instance }) => instance}
          sort={sort}
          onSort={(to) => SORTABLE.includes(to.slice(0, -1)) && setSort(to)}
          sorts={false}
          chosen={state.instance}
          onChoose={({ instance }) => change({ instance })}
          onOpen={({ instance }) => change(brushed(recording, instance))}
          empty="None of its instances is in the list of the page, or in this part of the run."
        />
        <InstanceDetail {...props} />
      </div>
    </section>
  );
}
