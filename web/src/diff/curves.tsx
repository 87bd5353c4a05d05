// curves.tsx - the live bytes of both runs in one chart, with a brush for both
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { unpack } from "../data/packed";
import type { Recording } from "../data/recording";
import { bytesText } from "../text/format";
import { Chart, type Curve } from "../ui/chart";
import { liveErrors } from "../views/run_chart";
import type { DiffProps } from "./view";

const POINTS = 1000;

/** The maximum of live bytes since the previous time, at equally spaced times; null after the end of the run. */
function sampled(recording: Recording, timesNs: Float64Array): (number | null)[] {
  const { timeline, run } = recording.document;
  const [steps, bytes] = [unpack(timeline.time_ns), unpack(timeline.max_bytes)];
  let [at, end] = [0, steps[0] ?? 0];
  return Array.from(timesNs, (time) => {
    if (time > run.duration_ns) return null;
    let most = bytes[at] ?? 0;
    while (at + 1 < steps.length && end < time) {
      end += steps[++at]!;
      most = Math.max(most, bytes[at]!);
    }
    return most;
  });
}

export function Curves({ difference, state, change, palette, small }: DiffProps & { small?: boolean }): JSX.Element {
  const { timesNs, curves } = useMemo(() => {
    const longest = difference.longer.document.run.duration_ns;
    const times = Float64Array.from({ length: POINTS + 1 }, (_, i) => (longest * i) / POINTS);
    const made: Curve[] = [
      { label: "Old", values: sampled(difference.old, times), colour: -1, filled: true, ...liveErrors(difference.old) },
      { label: "New", values: sampled(difference.now, times), colour: 0, ...liveErrors(difference.now) },
    ];
    return { timesNs: times, curves: made };
  }, [difference]);
  return (
    <Chart
      name="difference"
      title="Live bytes over time"
      timesNs={timesNs}
      edgesNs={difference.longer.edgesNs}
      curves={curves}
      format={bytesText}
      marks={[]}
      palette={palette}
      height={small ? 72 : 240}
      span={state.span}
      onSpan={(span) => change({ span })}
    />
  );
}
