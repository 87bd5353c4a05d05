// thread_lanes.tsx - the lanes of scopes on the timeline, and the chosen instance
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { instancesOf, type Instances } from "../data/instances";
import type { Recording } from "../data/recording";
import { scopesOf, type Scopes } from "../data/scopes";
import type { LaneWords } from "../lanes/draw";
import { Lanes } from "../lanes/lanes";
import type { Span } from "../state";
import { countedText, countText } from "../text/format";
import { cached } from "../text/names";
import { instanceName } from "../text/scopes";
import type { PlotPlace } from "../ui/chart";
import { HUE_COUNT, mix, SHADES, tint, type Palette } from "../ui/palette";
import { InstanceDetail, InstanceFacts } from "./instance_detail";
import { brushed } from "./instance_brush";
import type { ViewProps } from "./view";

const PALE = 0.5; // of an instance in which nothing is allocated or freed

/** The backgrounds of paths: scopes of one name have one colour. */
export function scopeFills(scopes: Scopes, palette: Palette): { readonly full: string[]; readonly pale: string[] } {
  const names = [...new Set(scopes.names)];
  const hues = new Map(names.map((name, i) => [name, i]));
  const full = scopes.names.map((name) => {
    const hue = hues.get(name)!;
    return tint(hue % HUE_COUNT, palette, Math.floor(hue / HUE_COUNT) % SHADES);
  });
  return { full, pale: full.map((fill) => mix(fill, palette.panel, PALE)) };
}

function wordsOf({ document }: Recording, scopes: Scopes, instances: Instances, palette: Palette): LaneWords {
  const { full, pale } = scopeFills(scopes, palette);
  const scopeOf = instances.column("scope");
  const label = cached((instance) => instanceName(scopes, instances, instance));
  const { name } = document.threads;
  return {
    head: (lane) => {
      const count = countedText(lane.count, "instance");
      return `${name.filter((other) => other === lane.name).length > 1 ? `${lane.name} ${lane.tid}` : lane.name}, ${count}`;
    },
    label,
    fill: (instance, hasCalls) => (hasCalls ? full : pale)[scopeOf[instance]!]!,
  };
}

function noteOf({ count, recorded }: Instances): string {
  const drawn = "pale: nothing is allocated or freed in it";
  if (count === recorded) return drawn;
  const left = countText(recorded - count);
  return `${drawn}; ${left} of ${countText(recorded)} instances are not shown: neither the longest nor those that allocate most`;
}

interface Props extends ViewProps {
  readonly plot: PlotPlace;
}

/** null: the program marked no scopes. */
export function ThreadLanes(props: Props): JSX.Element | null {
  const { recording, state, change, palette, plot } = props;
  const { document } = recording;
  const [scopes, instances] = [scopesOf(document), instancesOf(document)];
  const words = useMemo(
    () => (scopes && instances ? wordsOf(recording, scopes, instances, palette) : null),
    [document.threads, scopes, instances, palette],
  );
  const isShown = useMemo(
    () =>
      ({ thread }: { readonly thread: number }) =>
        document.thread === undefined || thread === document.thread,
    [document.thread],
  );
  const run = useMemo<Span>(() => ({ fromNs: 0, toNs: Math.max(1, document.run.duration_ns) }), [document.run.duration_ns]);
  if (scopes === null || instances === null || words === null) return null;
  return (
    <>
      <Lanes
        {...{ instances, words, isShown, palette, plot, run }}
        window={state.window ?? run}
        onWindow={(window) => change({ window })}
        span={state.span}
        chosen={state.instance < instances.count ? state.instance : -1}
        onChoose={(instance) => change({ instance })}
        onOpen={(instance) => change(brushed(recording, instance))}
        describe={(instance) => (
          <>
            <div class="function">{words.label(instance)}</div>
            <InstanceFacts {...{ recording, scopes, instances, instance }} />
          </>
        )}
        note={noteOf(instances)}
      />
      <InstanceDetail {...props} />
    </>
  );
}
