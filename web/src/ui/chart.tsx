// chart.tsx - curves over the time of the run, by uPlot, with a brush whose interval every view follows
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import type { Span } from "../state";
import { momentText, ticksText, timeText } from "../text/format";
import { Brush } from "./brush";
import { curveColour, mix, type Palette } from "./palette";
import { savePng } from "./save";

export interface Curve {
  readonly label: string;
  /** one value at each of the chart's times; null: not known */
  readonly values: readonly (number | null)[] | Float64Array;
  /** the n-th colour; -1: grey */
  readonly colour: number;
  readonly filled?: boolean;
  readonly dashed?: boolean;
  /** sampled now and then: joined over the times between, or held until the next one */
  readonly sampled?: "joined" | "held";
}

export interface Mark {
  readonly timeNs: number;
  readonly label: string;
}

interface Props {
  readonly name: string;
  readonly title: string;
  readonly timesNs: Float64Array;
  /** where an interval may begin and end */
  readonly edgesNs: Float64Array;
  readonly curves: readonly Curve[];
  readonly stacked?: boolean;
  readonly format: (value: number) => string;
  /** shorter, where the labels of the axis must be */
  readonly axisFormat?: (value: number) => string;
  readonly marks: readonly Mark[];
  readonly palette: Palette;
  readonly height: number;
  readonly span: Span | null;
  /** none: the chart has no brush */
  readonly onSpan?: (span: Span | null) => void;
  /** a label's curve was chosen in the legend */
  readonly onCurve?: (index: number) => void;
}

/** uPlot draws lines: a stacked area is the line of the sum so far, filled down to the one below it. */
function stackedSums(curves: readonly Curve[], count: number): Float64Array[] {
  const sum = new Float64Array(count);
  return curves.map(({ values }) => {
    for (let i = 0; i < count; i++) sum[i]! += values[i] ?? 0;
    return sum.slice();
  });
}

function drawMarks(plot: uPlot, marks: readonly Mark[], palette: Palette): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.font = `${11 * uPlot.pxRatio}px system-ui, sans-serif`;
  ctx.textAlign = "left";
  ctx.textBaseline = "alphabetic";
  ctx.strokeStyle = ctx.fillStyle = palette.mark;
  ctx.lineWidth = uPlot.pxRatio;
  ctx.setLineDash([3 * uPlot.pxRatio, 3 * uPlot.pxRatio]);
  let freeFrom = -Infinity; // labels that would overlap are left out, their lines are not
  for (const { timeNs, label } of marks) {
    const x = Math.round(plot.valToPos(timeNs, "x", true));
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    const width = ctx.measureText(label).width;
    const left = Math.min(x, bbox.left + bbox.width - width);
    if (left < freeFrom) continue;
    ctx.fillText(label, left, bbox.top - 5 * uPlot.pxRatio);
    freeFrom = left + width + 6 * uPlot.pxRatio;
  }
  ctx.restore();
}

function axesOf(palette: Palette, format: (value: number) => string): uPlot.Axis[] {
  const look = {
    stroke: palette.faint,
    font: "11px system-ui, sans-serif",
    grid: { stroke: palette.line, width: 1 },
    ticks: { show: false },
  };
  return [
    {
      ...look,
      size: 24,
      gap: 4,
      grid: { show: false },
      values: (_plot, ticks) => ticksText(ticks),
    },
    { ...look, size: 64, gap: 6, values: (_plot, ticks) => ticks.map((tick) => (tick === 0 ? "0" : Number.isInteger(tick) ? format(tick) : "")) },
  ];
}

/** What the curves look like, without their values. */
function looksOf({ curves, stacked }: Props): string {
  return JSON.stringify([stacked, ...curves.map(({ colour, filled, dashed, sampled }) => [colour, filled, dashed, sampled])]);
}

/** A plot outlives the values that it was made for: what depends on them is asked for when it draws. */
function optionsOf(props: Props, width: number, now: () => Props): uPlot.Options {
  const { curves, palette, stacked } = props;
  const series: uPlot.Series[] = curves.map((curve) => {
    const colour = curveColour(curve.colour, palette);
    return {
      label: curve.label,
      stroke: colour,
      width: stacked ? 1 : 1.5,
      points: { show: false },
      spanGaps: curve.sampled !== undefined,
      ...(curve.sampled === "held" && { paths: uPlot.paths.stepped!({ align: 1 }) }),
      ...(curve.dashed && { dash: [5, 4] }),
      ...(curve.filled && { fill: mix(colour, palette.panel, palette.dark ? 0.3 : 0.2) }),
      ...(stacked && { fill: mix(colour, palette.panel, 0.75) }),
    };
  });
  return {
    width,
    height: props.height,
    padding: [18, 28, 0, 0], // on the right half of the last label of the times
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, y: false, points: { show: false } },
    scales: { x: { time: false, range: () => [now().edgesNs[0]!, now().edgesNs.at(-1)!] }, y: { range: (_plot, _min, max) => [0, max > 0 ? max * 1.05 : 1] } },
    series: [{}, ...series],
    ...(stacked && {
      bands: curves.slice(1).map((_curve, i) => ({ series: [i + 2, i + 1] as [number, number] })),
    }),
    axes: axesOf(palette, (value) => (now().axisFormat ?? now().format)(value)),
    hooks: { draw: [(plot) => drawMarks(plot, now().marks, palette)] },
  };
}

/** The width of an element, as it changes with the window. */
export function useWidth(): [{ current: HTMLDivElement | null }, number] {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    setWidth(element.clientWidth);
    const watcher = new ResizeObserver(() => setWidth(element.clientWidth));
    watcher.observe(element);
    return () => watcher.disconnect();
  }, []);
  return [box, width];
}

interface LegendProps {
  readonly curves: readonly Curve[];
  readonly at: number | null;
  readonly format: (value: number) => string;
  readonly palette: Palette;
  readonly onCurve: ((index: number) => void) | undefined;
}

function Legend({ curves, at, format, palette, onCurve }: LegendProps): JSX.Element {
  return (
    <ul class="legend">
      {curves.map((curve, i) => {
        const value = at === null ? null : curve.values[at];
        return (
          <li key={i} title={curve.label}>
            <i class={curve.dashed ? "swatch dashed" : "swatch"} style={{ color: curveColour(curve.colour, palette) }} />
            {onCurve && curve.colour >= 0 ? (
              <button type="button" onClick={() => onCurve(i)}>
                {curve.label}
              </button>
            ) : (
              <span class="label">{curve.label}</span>
            )}
            <span class="figure">{value === null || value === undefined ? "" : format(value)}</span>
          </li>
        );
      })}
    </ul>
  );
}

/** The moment under the pointer; with the value, where no legend has it. */
function atText({ timesNs, curves, format }: Props, at: number): string {
  const time = momentText(timesNs[at] ?? 0, timesNs.length > 1 ? timesNs[1]! - timesNs[0]! : 1);
  const value = curves[0]?.values[at];
  return curves.length === 1 && typeof value === "number" ? `${time}: ${format(value)}` : time;
}

export function Chart(props: Props): JSX.Element {
  const { timesNs, curves, palette, name, stacked } = props;
  const latest = useRef(props);
  latest.current = props;
  const [box, width] = useWidth();
  const [plot, setPlot] = useState<uPlot | null>(null);
  const drawn = useRef<uPlot | null>(null); // the same at once: between effects, `plot` may be destroyed already
  const [at, setAt] = useState<number | null>(null);
  const target = useRef<HTMLDivElement>(null);
  const data = useMemo(
    () => [timesNs, ...(stacked ? stackedSums(curves, timesNs.length) : curves.map((curve) => curve.values))],
    [timesNs, curves, stacked],
  );
  useEffect(() => {
    drawn.current?.setData(data as uPlot.AlignedData);
  }, [data]);
  useEffect(() => {
    if (width === 0 || target.current === null) return;
    const options = optionsOf(props, width, () => latest.current);
    options.hooks = { ...options.hooks, setCursor: [(self) => setAt(self.cursor.idx ?? null)] };
    const made = new uPlot(options, data as uPlot.AlignedData, target.current);
    drawn.current = made;
    setPlot(made);
    return () => {
      made.destroy();
      drawn.current = null;
      setPlot(null);
    };
  }, [looksOf(props), palette, width, props.height]);

  return (
    <figure class="chart">
      <figcaption>
        <b>{props.title}</b>
        <span class="at">{at === null ? "" : atText(props, at)}</span>
        <button type="button" onClick={() => plot && savePng(`${name}.png`, plot.ctx.canvas, palette.panel)}>
          PNG
        </button>
      </figcaption>
      <div class="plot" ref={box} style={{ height: `${props.height}px` }}>
        <div ref={target} />
        {plot !== null && props.onSpan && <Brush plot={plot} timesNs={props.edgesNs} span={props.span} onSpan={props.onSpan} />}
      </div>
      {curves.length > 1 && <Legend curves={curves} at={at} format={props.format} palette={palette} onCurve={props.onCurve} />}
      <p class="sr-only">{`${props.title}, from 0 to ${timeText(timesNs[timesNs.length - 1] ?? 0)}`}</p>
    </figure>
  );
}
