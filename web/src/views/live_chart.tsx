// live_chart.tsx - the live bytes of a part of the recording over time, with the brush
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { bytesText } from "../text/format";
import { Chart, withErrors } from "../ui/chart";
import { droppedPart } from "./run_chart";
import type { ViewProps } from "./view";

interface Props extends ViewProps {
  readonly name: string;
  readonly title: string;
  /** at each edge */
  readonly values: Float64Array;
  /** of a value that is an estimate */
  readonly error?: ((bytes: number) => number | undefined) | undefined;
  readonly height: number;
}

export function LiveChart({ recording, state, change, palette, name, title, values, error, height }: Props): JSX.Element {
  const curves = useMemo(() => [{ label: "Live", values, colour: 0, filled: true, ...withErrors("bytes", error) }], [values]);
  return (
    <Chart
      name={name}
      title={title}
      timesNs={recording.edgesNs}
      edgesNs={recording.edgesNs}
      curves={curves}
      format={bytesText}
      marks={[]}
      dropped={droppedPart(recording, "living")}
      palette={palette}
      height={height}
      span={state.span}
      onSpan={(span) => change({ span })}
    />
  );
}
