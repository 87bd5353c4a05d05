// scope_figures.ts - the figures of each path of scopes: of the whole run, or of the instances that began in a part of it
import { isMoment, type ScopePart, type Span } from "../state";
import { instancesOf, type Instances } from "./instances";
import type { Recording } from "./recording";
import { scopesOf, type Scopes } from "./scopes";

const KEYS = ["instances", "duration_ns", "allocation_calls", "allocated_bytes", "net_bytes"] as const;
const LARGEST = ["max_duration_ns", "max_net_bytes"] as const;
type OfRun = "temporary_calls" | "peak_bytes" | "live_bytes_at_end";

type Always = (typeof KEYS)[number] | (typeof LARGEST)[number];
/** By row of the scopes. What depends on the run as a whole is not known for a part of it. */
export type ScopeFigures = Readonly<Record<Always, Float64Array>> & {
  readonly ofRun: Readonly<Record<OfRun, Float64Array>> | null;
};

function ofWholeRun(scopes: Scopes, part: ScopePart): ScopeFigures {
  return {
    instances: scopes.column("instances"),
    max_duration_ns: scopes.column("max_duration_ns"),
    max_net_bytes: scopes.column("max_net_bytes"),
    duration_ns: scopes.sum("duration_ns", part),
    allocation_calls: scopes.sum("allocation_calls", part),
    allocated_bytes: scopes.sum("allocated_bytes", part),
    net_bytes: scopes.sum("net_bytes", part),
    ofRun: {
      temporary_calls: scopes.sum("temporary_calls", part),
      peak_bytes: scopes.sum("peak_bytes", part),
      live_bytes_at_end: scopes.sum("live_bytes_at_end", part),
    },
  };
}

/** An instance is in an interval if it begins there; in a moment if it began before. */
function isWithin(span: Span | null): (beginNs: number) => boolean {
  if (span === null) return () => true;
  if (isMoment(span)) return (beginNs) => beginNs < span.toNs;
  return (beginNs) => beginNs >= span.fromNs && beginNs < span.toNs;
}

/** Whether each instance of the chosen thread is in a span. */
export function wantedIn({ document }: Recording, instances: Instances, span: Span | null): (instance: number) => boolean {
  const begins = instances.column("begin_ns");
  const within = isWithin(span);
  const lanes = instances.lanes.filter(({ thread }) => document.thread === undefined || thread === document.thread);
  const isOfThread = (instance: number): boolean => lanes.some(({ first, end }) => first <= instance && instance < end);
  return (instance) => within(begins[instance]!) && (document.thread === undefined || isOfThread(instance));
}

function ofInstances(recording: Recording, scopes: Scopes, instances: Instances, part: ScopePart, span: Span | null): ScopeFigures {
  const made: Partial<Record<Always, Float64Array>> = {};
  for (const key of [...KEYS, ...LARGEST]) made[key] = new Float64Array(scopes.count);
  const figures = made as Record<Always, Float64Array>;
  const scopeOf = instances.column("scope");
  const sums = (["duration_ns", "allocation_calls", "allocated_bytes", "net_bytes"] as const).map((key) => [figures[key], instances.column(key)] as const);
  const longest = instances.column("duration_ns");
  const most = instances.column("max_net_bytes");
  const isWanted = wantedIn(recording, instances, span);
  for (let i = 0; i < instances.count; i++) {
    if (!isWanted(i)) continue;
    const scope = scopeOf[i]!;
    const outer = part === "self" ? instances.outerOf(i) : -1;
    const isInside = outer >= 0 && isWanted(outer) && scopes.isInside(scope, scopeOf[outer]!); // a task is not
    const around = isInside ? scopeOf[outer]! : -1;
    figures.instances[scope]!++;
    for (const [sum, values] of sums) {
      sum[scope]! += values[i]!;
      if (around >= 0) sum[around]! -= values[i]!;
    }
    figures.max_duration_ns[scope] = Math.max(figures.max_duration_ns[scope]!, longest[i]!);
    figures.max_net_bytes[scope] = Math.max(figures.max_net_bytes[scope]!, most[i]!);
  }
  return { ...figures, ofRun: null };
}

/** null: the program marked no scopes. */
export function scopeFiguresOf(recording: Recording, part: ScopePart, span: Span | null): ScopeFigures | null {
  const [scopes, instances] = [scopesOf(recording.document), instancesOf(recording.document)];
  if (scopes === null) return null;
  const isWhole = span === null && recording.document.thread === undefined;
  return isWhole || instances === null ? ofWholeRun(scopes, part) : ofInstances(recording, scopes, instances, part, span);
}
