// counters.tsx - the counters that the program set, each on its own scale, and live bytes
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { CounterFields } from "../data/document";
import { unpack } from "../data/packed";
import type { Recording } from "../data/recording";
import { bytesText, countText } from "../text/format";
import { Chart, type Curve } from "../ui/chart";
import { HUE_COUNT } from "../ui/palette";
import { marksOf, summed } from "./run_chart";
import type { ViewProps } from "./view";

const SHOWN = HUE_COUNT - 1; // the first colour is that of live bytes

/** 1,999,000; 39.5 */
function valueText(value: number): string {
  return Number.isInteger(value) ? countText(value) : String(Number(value.toPrecision(5)));
}

/** 0 to 16; -5 if it never changed */
function rangeText(least: number, most: number): string {
  return least === most ? valueText(least) : `${valueText(least)} to ${valueText(most)}`;
}

/** The last value until each time. */
function heldValues(sampleNs: Float64Array, values: readonly (number | null)[] | Float64Array, timesNs: Float64Array): (number | null)[] {
  let next = 0;
  let value: number | null = null;
  return Array.from(timesNs, (ns) => {
    while (next < sampleNs.length && sampleNs[next]! <= ns) value = values[next++]!;
    return value;
  });
}

interface Drawn {
  readonly timesNs: Float64Array;
  readonly curves: readonly Curve[];
}

/** Along the times of live bytes and those at which a counter was set: these are closer together in a busy part of the run. */
function drawnOf(counters: readonly CounterFields[], liveNs: Float64Array, live: Float64Array): Drawn {
  const shown = counters.slice(0, SHOWN).map((counter) => ({ counter, setNs: Float64Array.from(counter.points, ({ time_ns }) => time_ns) }));
  const timesNs = Float64Array.from(new Set([liveNs, ...shown.map(({ setNs }) => setNs)].flatMap((times) => Array.from(times)))).sort();
  const most = live.reduce((so, bytes) => Math.max(so, bytes), 0);
  const ofLive: Curve = {
    label: "Live bytes",
    values: heldValues(liveNs, live, timesNs),
    colour: 0,
    filled: true,
    range: [0, Math.max(1, most)],
    format: bytesText,
  };
  const ofCounters = shown.map(({ counter, setNs }, i): Curve => {
    const [least, most] = [counter.min ?? 0, counter.max ?? 0];
    return {
      label: `${counter.name} (${rangeText(least, most)})`,
      values: heldValues(setNs, counter.points.map(({ value }) => value), timesNs),
      colour: i + 1,
      sampled: "held",
      range: [Math.min(0, least), Math.max(0, most)],
      format: valueText,
    };
  });
  return { timesNs, curves: [ofLive, ...ofCounters] };
}

function titleOf({ document }: Recording, shown: number): string {
  const all = (document.counters?.length ?? 0) + (document.counters_left_out ?? 0);
  return all > shown ? `The first ${shown} of ${countText(all)} counters of the program` : "Counters of the program";
}

/** null: the program has no counters. */
export function Counters({ recording, state, change, palette }: ViewProps): JSX.Element | null {
  const { counters, timeline } = recording.document;
  const { timesNs, curves } = useMemo(
    () => drawnOf(counters ?? [], summed(unpack(timeline.time_ns)), unpack(timeline.max_bytes)),
    [counters, timeline],
  );
  const marks = useMemo(() => marksOf(recording), [recording]);
  if (counters === undefined || counters.length === 0) return null;
  return (
    <Chart
      name="counters"
      title={`${titleOf(recording, curves.length - 1)}, each on its own scale`}
      timesNs={timesNs}
      edgesNs={recording.edgesNs}
      curves={curves}
      format={bytesText}
      axisFormat={() => ""}
      marks={marks}
      palette={palette}
      height={150}
      span={state.span}
      window={state.window}
      onSpan={(span) => change({ span })}
    />
  );
}
