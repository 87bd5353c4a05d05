// instance_detail.tsx - one instance of a scope: when and where it was, and what was allocated and freed in it
import type { JSX } from "preact";
import { instancesOf, type Column as InstanceColumn, type Instances } from "../data/instances";
import { scopesOf, type Scopes } from "../data/scopes";
import type { Recording } from "../data/recording";
import type { State } from "../state";
import { bytesText, countedText, errorText, timeText } from "../text/format";
import { changeText, instanceName, sequenceText, sizesText } from "../text/scopes";
import { momentIn } from "../text/words";
import { brushed, isBrushed } from "./instance_brush";
import type { ViewProps } from "./view";

interface FactsProps {
  readonly recording: Recording;
  readonly scopes: Scopes;
  readonly instances: Instances;
  readonly instance: number;
}

function factsOf({ recording, scopes, instances, instance }: FactsProps): [string, string][] {
  const lane = instances.laneOf(instance)!;
  const of = (key: InstanceColumn): number => instances.column(key)[instance]!;
  const [calls, frees] = [of("allocation_calls"), of("free_calls")];
  const counted = (count: number, noun: string): string => countedText(count, noun, recording.errorAtMean("count", count));
  const error = (bytes: number): string => {
    const text = errorText("bytes", bytes, recording.errorAtMean("bytes", bytes));
    return text === "" ? "" : ` ${text}`;
  };
  const when = `${momentIn(of("begin_ns"))}, for ${timeText(of("duration_ns"))}`;
  const facts: [string, string][] = [
    ["Path", scopes.paths[of("scope")]!],
    ["Which", sequenceText(scopes, instances, instance)],
    ["Thread", `${lane.name} (${lane.tid})`],
    ["Began at", when],
    ["Calls", calls + frees === 0 ? "none" : `${counted(calls, "allocation")}, ${counted(frees, "free")}`],
  ];
  if (calls + frees === 0) return facts;
  return [
    ...facts,
    ["Allocated", bytesText(of("allocated_bytes")) + error(of("allocated_bytes"))],
    ["Net", changeText(of("net_bytes")) + error(of("net_bytes"))],
    ["At most at a time", bytesText(of("max_net_bytes")) + error(of("max_net_bytes"))],
    ["By size", sizesText(instances, instance)],
  ];
}

/** The facts of an instance, without a frame around them. */
export function InstanceFacts(props: FactsProps): JSX.Element {
  return (
    <dl class="instance-facts">
      {factsOf(props).map(([name, text]) => (
        <>
          <dt>{name}</dt>
          <dd>{text}</dd>
        </>
      ))}
    </dl>
  );
}

function found(recording: Recording, { instance }: State): FactsProps | null {
  const [scopes, instances] = [scopesOf(recording.document), instancesOf(recording.document)];
  if (scopes === null || instances === null || instance < 0 || instance >= instances.count) return null;
  return { recording, scopes, instances, instance };
}

export function InstanceDetail({ recording, state, change }: ViewProps): JSX.Element | null {
  const facts = found(recording, state);
  if (facts === null) return null;
  const { scopes, instances, instance } = facts;
  return (
    <section class="panel instance" aria-label="The chosen instance">
      <div class="detail-head">
        <h2>{instanceName(scopes, instances, instance)}</h2>
        <span class="buttons">
          {isBrushed(recording, state) ? (
            <span class="faint">every view shows its time</span>
          ) : (
            <button type="button" class="plain-button" onClick={() => change(brushed(recording, instance))}>
              Show in every view
            </button>
          )}
          {state.view !== "timeline" && (
            <button type="button" class="plain-button" onClick={() => change({ view: "timeline", instance })}>
              On the timeline
            </button>
          )}
        </span>
      </div>
      <InstanceFacts {...facts} />
    </section>
  );
}
