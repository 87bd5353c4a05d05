// instance_brush.ts - turns every view to one instance of a scope: to its time and its thread
import { instancesOf } from "../data/instances";
import type { Recording } from "../data/recording";
import { scopesOf } from "../data/scopes";
import type { Span, State } from "../state";
import { timeText } from "../text/format";
import { instanceName } from "../text/scopes";
import { momentIn } from "../text/words";

/** The interval of an instance: from the last edge before it to the first one after it, since figures are known at edges. */
function spanOf(recording: Recording, instance: number): Span | null {
  const { edgesNs, document } = recording;
  const instances = instancesOf(document);
  if (instances === null || instance < 0 || instance >= instances.count) return null;
  const [begin, end] = [instances.column("begin_ns")[instance]!, instances.column("end_ns")[instance]!];
  const last = edgesNs.length - 1;
  let from = last - 1;
  while (from > 0 && edgesNs[from]! > begin) from--;
  let to = from + 1;
  while (to < last && edgesNs[to]! < end) to++;
  return { fromNs: edgesNs[from]!, toNs: edgesNs[to]! };
}

/** The row of threads of an instance's thread, if the views can show only this thread; else -1. */
function threadOf({ document }: Recording, instance: number): number {
  const thread = instancesOf(document)?.laneOf(instance)?.thread ?? -1;
  return document.stack_threads !== undefined && document.threads.cut[thread] === 0 ? thread : -1;
}

export function brushed(recording: Recording, instance: number): Partial<State> {
  return { instance, span: spanOf(recording, instance), thread: threadOf(recording, instance) };
}

/** Whether the views show the time of the chosen instance. */
export function isBrushed(recording: Recording, { instance, span }: State): boolean {
  const own = instance < 0 || span === null ? null : spanOf(recording, instance);
  return own !== null && span !== null && own.fromNs === span.fromNs && own.toNs === span.toNs;
}

/** Which instance the views show; "": none. */
export function brushText(recording: Recording, state: State): string {
  if (!isBrushed(recording, state)) return "";
  const { document } = recording;
  const [scopes, instances] = [scopesOf(document)!, instancesOf(document)!];
  const { instance } = state;
  const [begin, duration] = [instances.column("begin_ns")[instance]!, instances.column("duration_ns")[instance]!];
  return `${instanceName(scopes, instances, instance)}, at ${momentIn(begin)} for ${timeText(duration)}`;
}
