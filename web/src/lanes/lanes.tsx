// lanes.tsx - a lane of scopes for each thread, along the times of the charts above
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { canvasPainter } from "../flame/painter";
import type { Span } from "../state";
import { fittedContext, measuredCharPx, useSize } from "../ui/canvas";
import type { PlotPlace } from "../ui/chart";
import { HoverCard } from "../ui/hover_card";
import { mix, type Palette } from "../ui/palette";
import { savePng } from "../ui/save";
import { drawLanes, instanceAt, placesOf, ROW_PX, topOf, type LaneWords, type Look, type View } from "./draw";
import { onLaneKey, type Choice } from "./keys";
import { rowsOf } from "./layout";
import { usePointer, useWheel } from "./pointer";
import { Toolbar } from "./toolbar";
import type { Times } from "./window";

const HEIGHT_MOST_PX = 420;

interface Props extends Times, Choice {
  readonly words: LaneWords;
  readonly describe: (instance: number) => JSX.Element;
  readonly palette: Palette;
  /** where the charts above have their times */
  readonly plot: PlotPlace;
  /** the interval that the views show */
  readonly span: Span | null;
  readonly note: string;
}

function lookOf({ words, palette, chosen, span }: Props, charPx: number): Look {
  return {
    ...words,
    ink: palette.text,
    faintInk: palette.faint,
    ground: palette.panel,
    outline: palette.accent,
    wash: mix(palette.accent, palette.panel, palette.dark ? 0.16 : 0.1),
    charPx,
    chosen,
    span,
  };
}

/** Scrolls until a row that begins at `rowTop` is visible, with the row next to it. */
function scrollTo(box: HTMLElement, rowTop: number): void {
  if (rowTop - ROW_PX < box.scrollTop) box.scrollTop = Math.max(0, rowTop - 2 * ROW_PX);
  else if (rowTop + ROW_PX > box.scrollTop + box.clientHeight) box.scrollTop = rowTop + 2 * ROW_PX - box.clientHeight;
}

export function Lanes(props: Props): JSX.Element {
  const { instances, words, isShown, palette, plot, window, chosen } = props;
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [top, setTop] = useState(0);
  const size = useSize(box);
  const rows = rowsOf(instances);
  const places = useMemo(() => placesOf(rows, isShown), [rows, isShown]);
  const view: View = { top, height: size.height, canvasWidth: size.width, left: plot.left, width: plot.width, window };
  useWheel(box, props);
  const { hovered, handlers } = usePointer(props, (event) => {
    const corner = canvas.current!.getBoundingClientRect();
    return instanceAt(event.clientX - corner.left, event.clientY - corner.top, rows, places, view);
  });

  useLayoutEffect(() => {
    const context = size.width === 0 || plot.width <= 0 ? null : fittedContext(canvas.current, size);
    if (context !== null) drawLanes(canvasPainter(context), rows, places, view, lookOf(props, measuredCharPx(context)));
  }, [rows, places, palette, size, top, plot.left, plot.width, window.fromNs, window.toNs, chosen, props.span, words]);
  useEffect(() => {
    const rowTop = topOf(chosen, rows, places);
    if (rowTop >= 0) scrollTo(box.current!, rowTop);
  }, [chosen, places]);

  return (
    <figure class="chart lanes">
      <figcaption>
        <b>Scopes of each thread</b>
        <span class="at">{props.note}</span>
        <Toolbar {...props} onPicture={() => savePng("scopes.png", canvas.current!, palette.panel)} />
      </figcaption>
      <div
        class="lane-scroll"
        ref={box}
        style={{ height: `${Math.min(HEIGHT_MOST_PX, places.height)}px` }}
        tabIndex={0}
        role="application"
        aria-label={chosen >= 0 ? `Scopes of each thread: ${words.label(chosen)}` : "Scopes of each thread"}
        data-lanes="scopes"
        onScroll={(event) => setTop(event.currentTarget.scrollTop)}
        onKeyDown={(event) => onLaneKey(event, props)}
      >
        <div style={{ height: `${places.height}px` }}>
          <canvas ref={canvas} style={{ position: "sticky", top: 0, width: `${size.width}px`, height: `${size.height}px` }} {...handlers} />
        </div>
      </div>
      {hovered && <HoverCard at={hovered}>{props.describe(hovered.instance)}</HoverCard>}
    </figure>
  );
}
