// chart.tsx - curves over the run's time, drawn by uPlot, with a brush whose interval applies to all views
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import type { Span } from "../state";
import { errorText, momentText, ticksText, timeText, type Kind } from "../text/format";
import { cutDistinct } from "../text/names";
import { Brush } from "./brush";
import { drawDropped, drawMarks, type Dropped, type Mark } from "./chart_marks";
import { curveColour, mix, type Palette } from "./palette";
import { savePng } from "./save";

export interface Curve {
  readonly label: string;
  /** one value for each of the chart's times; null: unknown */
  readonly values: readonly (number | null)[] | Float64Array;
  /** the n-th colour; -1: grey */
  readonly colour: number;
  readonly filled?: boolean;
  readonly dashed?: boolean;
  /** the values are samples: joined by lines, or held until the next sample */
  readonly sampled?: "joined" | "held";
  /** has its own axis on the right, since on a common axis it would flatten the others */
  readonly hasOwnAxis?: boolean;
  /** has its own scale, without an axis: from the least to the most */
  readonly range?: readonly [least: number, most: number];
  /** how its values are shown, if not as those of the chart */
  readonly format?: (value: number) => string;
  /** "± 3.2" for a value that is an estimate, or ""; absent: the values are exact */
  readonly error?: (value: number, at: number) => string;
}

/** The part of a curve of estimates that shows their errors. */
export function withErrors(kind: Kind, errorOf: ((value: number) => number | undefined) | undefined): Pick<Curve, "error"> {
  return errorOf === undefined ? {} : { error: (value) => errorText(kind, value, errorOf(value)) };
}

/** Where a chart has its times, in pixels from its left. */
export interface PlotPlace {
  readonly left: number;
  readonly width: number;
}

interface Props {
  readonly name: string;
  readonly title: string;
  readonly timesNs: Float64Array;
  /** the times at which an interval may begin and end */
  readonly edgesNs: Float64Array;
  readonly curves: readonly Curve[];
  readonly stacked?: boolean;
  readonly format: (value: number) => string;
  /** a shorter format for the axis */
  readonly axisFormat?: (value: number) => string;
  readonly marks: readonly Mark[];
  readonly dropped?: Dropped | undefined;
  readonly palette: Palette;
  readonly height: number;
  readonly span: Span | null;
  /** the part of the run that is drawn; null or absent: all of it */
  readonly window?: Span | null;
  readonly onPlace?: (place: PlotPlace) => void;
  /** absent: the chart has no brush */
  readonly onSpan?: (span: Span | null) => void;
  /** called when a curve is chosen in the legend */
  readonly onCurve?: (index: number) => void;
}

/** uPlot draws lines: a stacked area is the line of the sum so far, filled down to the line below. */
function stackedSums(curves: readonly Curve[], count: number): Float64Array[] {
  const sum = new Float64Array(count);
  return curves.map(({ values }) => {
    for (let i = 0; i < count; i++) sum[i]! += values[i] ?? 0;
    return sum.slice();
  });
}

const SMALL_PX = 100; // a lower chart has only two labels on its axis: 0 and the maximum
const FIGURES_PX = 64; // the minimum width of an axis of figures
const FIGURES_GAP_PX = 6;
const [TIMES_PX, TIMES_GAP_PX] = [50, 12]; // width of a time label, and the gap to the next
const AXIS_FONT = "11px system-ui, sans-serif";
const HALF_TIME_PX = 28; // space on the right, since half of the last time label may extend beyond the chart
const SCALE_OVER = 1.05; // of the largest value

function widthPx({ ctx }: uPlot, text: string): number {
  ctx.save();
  ctx.font = AXIS_FONT;
  const { width } = ctx.measureText(text);
  ctx.restore();
  return Math.ceil(width);
}

/** The width of the longest time label; times below a second have short labels. */
function timePx(plot: uPlot, untilNs: number): number {
  return widthPx(plot, `${Math.floor(untilNs / 1e9)} s`);
}

/** The same in a part of the run, whose labels need more decimals. */
function partPx(plot: uPlot, min: number, max: number): number {
  const step = 10 ** Math.floor(Math.log10((max - min) / 8));
  const last = Math.round(max / step) * step;
  return widthPx(plot, ticksText([last - step, last])[1]!);
}

/** An axis of figures: on the left, or on the right for curves with their own axis. */
function figuresAxis(look: uPlot.Axis, height: number, hasOwnAxis: boolean, format: (value: number) => string): uPlot.Axis {
  return {
    ...look,
    size: (plot, labels: readonly string[] | null) => Math.max(FIGURES_PX, ...(labels ?? []).map((label) => widthPx(plot, label) + FIGURES_GAP_PX + 2)),
    gap: FIGURES_GAP_PX,
    values: (_plot, ticks) => {
      const isNamed = (tick: number): boolean => Number.isInteger(tick) || (height < SMALL_PX && tick > 1);
      return ticks.map((tick) => (tick === 0 ? "0" : isNamed(tick) ? format(tick) : ""));
    },
    ...(height < SMALL_PX && { splits: (_plot, _axis, _min, max) => [0, max / SCALE_OVER] }),
    ...(hasOwnAxis && { scale: OWN_AXIS, side: 1, grid: { show: false } }),
  };
}

function axesOf({ palette, height, curves }: Props, format: (value: number) => string): uPlot.Axis[] {
  const look = {
    stroke: palette.faint,
    font: AXIS_FONT,
    grid: { stroke: palette.line, width: 1 },
    ticks: { show: false },
  };
  return [
    {
      ...look,
      size: 24,
      gap: 4,
      grid: { show: false },
      space: (plot, _axis, min, max) => Math.max(TIMES_PX, (min > 0 ? partPx(plot, min, max) : timePx(plot, max)) + TIMES_GAP_PX),
      values: (_plot, ticks) => ticksText(ticks),
    },
    { ...figuresAxis(look, height, false, format), ...(curves.every(({ range }) => range) && { values: () => [] }) },
    ...(curves.some(({ hasOwnAxis }) => hasOwnAxis) ? [figuresAxis(look, height, true, format)] : []),
  ];
}

/** How the curves look, without their values. */
function looksOf({ curves, stacked }: Props): string {
  const looks = curves.map(({ colour, filled, dashed, sampled, hasOwnAxis, range }) => [colour, filled, dashed, sampled, hasOwnAxis, range]);
  return JSON.stringify([stacked, ...looks]);
}

const OWN_AXIS = "own"; // the scale of curves with their own axis

function fromZero(_plot: uPlot, _min: number | null, max: number | null): [number, number] {
  return [0, max !== null && max > 0 ? max * SCALE_OVER : 0.5];
}

/** Own scales of curves without an axis. */
function ownScales(curves: readonly Curve[]): Record<string, uPlot.Scale> {
  const scales: Record<string, uPlot.Scale> = {};
  curves.forEach(({ range }, i) => {
    if (range === undefined) return;
    const [least, most] = range;
    const margin = most > least ? ((most - least) * (SCALE_OVER - 1)) / 2 : 1;
    scales[`curve ${i}`] = { range: [least - margin, most + margin] };
  });
  return scales;
}

function knownCount(values: uPlot.AlignedData[number]): number {
  return (values as readonly (number | null)[]).reduce<number>((count, value) => count + Number(value !== null), 0);
}

/** A plot outlives the values that it was made for, so it asks for the current ones when it draws. It may draw once more after its curves
 * became others, so what it needs of these is in its own data. */
function optionsOf(props: Props, width: number, now: () => Props): uPlot.Options {
  const { curves, palette, stacked } = props;
  const series: uPlot.Series[] = curves.map((curve, i) => {
    const colour = curveColour(curve.colour, palette);
    return {
      label: curve.label,
      stroke: colour,
      width: stacked ? 1 : 1.5,
      points: { show: (plot, own) => curve.sampled !== undefined && knownCount(plot.data[own]!) === 1 }, // a single sample has no line
      spanGaps: curve.sampled !== undefined,
      ...(curve.sampled === "held" && { paths: uPlot.paths.stepped!({ align: 1 }) }),
      ...(curve.hasOwnAxis && { scale: OWN_AXIS }),
      ...(curve.range && { scale: `curve ${i}` }),
      ...(curve.dashed && { dash: [5, 4] }),
      ...(curve.filled && { fill: mix(colour, palette.panel, palette.dark ? 0.3 : 0.2) }),
      ...(stacked && { fill: mix(colour, palette.panel, 0.75) }),
    };
  });
  return {
    width,
    height: props.height,
    padding: [
      18,
      (plot) => (curves.some(({ hasOwnAxis }) => hasOwnAxis) ? 0 : Math.max(HALF_TIME_PX, timePx(plot, now().edgesNs.at(-1)!) / 2)),
      0,
      0,
    ],
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, y: false, points: { show: false } },
    scales: {
      x: { time: false, range: () => [now().window?.fromNs ?? now().edgesNs[0]!, now().window?.toNs ?? now().edgesNs.at(-1)!] },
      y: { range: fromZero },
      [OWN_AXIS]: { range: fromZero },
      ...ownScales(curves),
    },
    series: [{}, ...series],
    ...(stacked && {
      bands: curves.slice(1).map((_curve, i) => ({ series: [i + 2, i + 1] as [number, number] })),
    }),
    axes: axesOf(props, (value) => (now().axisFormat ?? now().format)(value)),
    hooks: { draw: [(plot) => drawDropped(plot, now().dropped, palette), (plot) => drawMarks(plot, now().marks, palette)] },
  };
}

/** The width of an element, which changes with the window. */
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

const [NAME_LEAST, NAME_MOST] = [16, 64]; // characters of a name in a legend
const [LEGEND_CHAR_PX, LEGEND_BESIDE_PX, LEGEND_ERROR_PX] = [7, 90, 60]; // and the width of the rest of an entry

/** The width of an entry of a legend without its name. */
function besidePx(curves: readonly Curve[]): number {
  return LEGEND_BESIDE_PX + (curves.some(({ error }) => error !== undefined) ? LEGEND_ERROR_PX : 0);
}

/** How many characters of a name fit, in a legend as wide as its chart; 0: the width is not known yet. */
function nameRoom(width: number, curves: readonly Curve[]): number {
  const room = Math.floor((width - besidePx(curves)) / LEGEND_CHAR_PX);
  return width === 0 ? NAME_MOST : Math.min(NAME_MOST, Math.max(NAME_LEAST, room));
}

/** The value of a curve at one of the chart's times, with its error. */
function valueText(curve: Curve, at: number, format: (value: number) => string): string {
  const value = curve.values[at];
  if (value === null || value === undefined) return "";
  const error = curve.error?.(value, at) ?? "";
  return (curve.format ?? format)(value) + (error === "" ? "" : ` ${error}`);
}

interface LegendProps {
  readonly curves: readonly Curve[];
  readonly at: number | null;
  readonly format: (value: number) => string;
  readonly palette: Palette;
  /** number of characters for a name */
  readonly room: number;
  readonly onCurve: ((index: number) => void) | undefined;
}

function Legend({ curves, at, format, palette, room, onCurve }: LegendProps): JSX.Element {
  const names = useMemo(() => cutDistinct(curves.map(({ label }) => label), room), [curves, room]);
  const columnPx = Math.max(...names.map((name) => name.length)) * LEGEND_CHAR_PX + besidePx(curves);
  return (
    <ul class="legend in-columns" style={{ gridTemplateColumns: `repeat(auto-fill, minmax(0, ${columnPx}px))` }}>
      {curves.map((curve, i) => {
        return (
          <li key={i} title={curve.label}>
            <i class={curve.dashed ? "swatch dashed" : "swatch"} style={{ color: curveColour(curve.colour, palette) }} />
            {onCurve && curve.colour >= 0 ? (
              <button type="button" onClick={() => onCurve(i)}>
                {names[i]}
              </button>
            ) : (
              <span class="label">{names[i]}</span>
            )}
            <span class="figure">{at === null ? "" : valueText(curve, at, format)}</span>
          </li>
        );
      })}
    </ul>
  );
}

/** A single curve needs no legend, since the title names it, unless it is part of a stack. */
function hasLegend({ curves, stacked }: Props): boolean {
  return curves.length > 1 || (stacked === true && curves.length === 1);
}

/** The moment under the pointer, with the value if no legend shows it. */
function atText(props: Props, at: number): string {
  const { timesNs, curves, format } = props;
  const time = momentText(timesNs[at] ?? 0, timesNs.length > 1 ? timesNs[1]! - timesNs[0]! : 1);
  const value = hasLegend(props) || curves[0] === undefined ? "" : valueText(curves[0], at, format);
  return value === "" ? time : `${time}: ${value}`;
}

function placeOf({ bbox }: uPlot): PlotPlace {
  return { left: bbox.left / devicePixelRatio, width: bbox.width / devicePixelRatio };
}

function isNothing(curves: readonly Curve[]): boolean {
  return curves.every(({ values }) => (values as readonly (number | null)[]).every((value) => value === null || value === 0));
}

export function Chart(props: Props): JSX.Element {
  const { timesNs, curves, palette, name, stacked, format, onCurve } = props;
  const latest = useRef(props);
  latest.current = props;
  const [box, width] = useWidth();
  const [plot, setPlot] = useState<uPlot | null>(null);
  const drawn = useRef<uPlot | null>(null); // the current plot: between effects, `plot` may already be destroyed
  const [at, setAt] = useState<number | null>(null);
  const target = useRef<HTMLDivElement>(null);
  const data = useMemo(
    () => [timesNs, ...(stacked ? stackedSums(curves, timesNs.length) : curves.map((curve) => curve.values))],
    [timesNs, curves, stacked],
  );
  const [, setScaled] = useState(0); // the brush is drawn again after the scale of times has changed
  useEffect(() => {
    drawn.current?.setData(data as uPlot.AlignedData);
  }, [data, props.window?.fromNs, props.window?.toNs]);
  useEffect(() => {
    if (width === 0 || target.current === null) return;
    const options = optionsOf(props, width, () => latest.current);
    options.hooks = {
      ...options.hooks,
      setCursor: [(self) => setAt(self.cursor.idx ?? null)],
      ready: [(self) => drawn.current === self && setPlot(self)], // before that it has no positions
      setScale: [(_self, key) => key === "x" && setScaled((times) => times + 1)],
      draw: [...options.hooks!.draw!, (self) => latest.current.onPlace?.(placeOf(self))],
    };
    const made = new uPlot(options, data as uPlot.AlignedData, target.current);
    drawn.current = made;
    return () => {
      made.destroy();
      drawn.current = null;
      setPlot(null);
    };
  }, [looksOf(props), palette, width, props.height, props.edgesNs]);

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
        {isNothing(curves) && <p class="all-zero">always 0</p>}
        {plot !== null && props.onSpan && <Brush plot={plot} timesNs={props.edgesNs} span={props.span} onSpan={props.onSpan} />}
      </div>
      {hasLegend(props) && <Legend {...{ curves, at, format, palette, onCurve }} room={nameRoom(width, curves)} />}
      <p class="sr-only">
        {`${props.title}, from 0 to ${timeText(timesNs[timesNs.length - 1] ?? 0)}`}
        {props.dropped && `; until ${timeText(props.dropped.untilNs)} ${props.dropped.label}`}
      </p>
    </figure>
  );
}
