// lanes.tsx - a lane of scopes for each thread, along the times of the charts above, with zoom, hover and keys
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Instances, Lane } from "../data/instances";
import { canvasPainter } from "../flame/painter";
import type { Span } from "../state";
import { fitCanvas, measuredCharPx } from "../ui/canvas";
import type { PlotPlace } from "../ui/chart";
import { HoverCard, type Pointed } from "../ui/hover_card";
import { mix, type Palette } from "../ui/palette";
import { savePng } from "../ui/save";
import { drawLanes, instanceAt, placesOf, ROW_PX, topOf, type Look, type View } from "./draw";
import { rowsOf } from "./layout";
import { moved, zoomed } from "./window";

const HEIGHT_MOST_PX = 420;
const CLICK_PX = 4; // if the pointer moved less, it is a click
const [ZOOM_STEP, MOVE_STEP] = [1.5, 0.2];

export interface LaneWords {
  readonly head: (lane: Lane) => string;
  readonly label: (instance: number) => string;
  readonly fill: (instance: number, hasCalls: boolean) => string;
  readonly describe: (instance: number) => JSX.Element;
}

interface Props {
  readonly instances: Instances;
  readonly words: LaneWords;
  readonly isShown: (lane: Lane) => boolean;
  readonly palette: Palette;
  /** the times of the charts above */
  readonly place: PlotPlace;
  readonly run: Span;
  readonly window: Span | null;
  readonly onWindow: (window: Span | null) => void;
  readonly span: Span | null;
  readonly chosen: number;
  readonly onChoose: (instance: number) => void;
  /** turns every view to an instance */
  readonly onOpen: (instance: number) => void;
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

/** The width and height of the visible part of a scrolled element. */
function useSize(box: { readonly current: HTMLDivElement | null }): { readonly width: number; readonly height: number } {
  const [size, setSize] = useState({ width: 0, height: 0 });
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const measure = (): void => setSize({ width: element.clientWidth, height: element.clientHeight });
    measure();
    const watcher = new ResizeObserver(measure);
    watcher.observe(element);
    return () => watcher.disconnect();
  }, []);
  return size;
}

/** Zooms at the pointer and moves by the wheel. The listener is not passive: otherwise the browser would zoom the page. */
function useWheel(box: { readonly current: HTMLDivElement | null }, now: () => { props: Props; view: View }): void {
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const onWheel = (event: WheelEvent): void => {
      const { props, view } = now();
      const sideways = event.shiftKey ? event.deltaY : event.deltaX;
      if (!event.ctrlKey && sideways === 0) return; // it scrolls the lanes or the page
      event.preventDefault();
      const x = event.clientX - element.getBoundingClientRect().left - view.left;
      if (event.ctrlKey) props.onWindow(zoomed(view.window, props.run, Math.exp(-event.deltaY / 200), x / view.width));
      else props.onWindow(moved(view.window, props.run, sideways / view.width));
    };
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => element.removeEventListener("wheel", onWheel);
  }, []);
}

function Buttons({ run, window: part, onWindow, span, onPicture }: Props & { readonly onPicture: () => void }): JSX.Element {
  const window = part ?? run;
  return (
    <span class="buttons">
      <button type="button" title="Zoom in (+, or Ctrl and the wheel)" aria-label="Zoom in" onClick={() => onWindow(zoomed(window, run, ZOOM_STEP, 0.5))}>
        +
      </button>
      <button type="button" title="Zoom out (-)" aria-label="Zoom out" onClick={() => onWindow(zoomed(window, run, 1 / ZOOM_STEP, 0.5))}>
        −
      </button>
      {span !== null && span.fromNs < span.toNs && (
        <button type="button" title="Zoom to the chosen interval" onClick={() => onWindow(span)}>
          Interval
        </button>
      )}
      <button type="button" title="Show the times of the whole run (Escape)" disabled={part === null} onClick={() => onWindow(null)}>
        All
      </button>
      <button type="button" onClick={onPicture}>
        PNG
      </button>
    </span>
  );
}

export function Lanes(props: Props): JSX.Element {
  const { instances, isShown, palette, place, run, window: part, chosen } = props;
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const held = useRef<{ readonly x: number; readonly window: Span; moved: boolean } | null>(null); // of a drag
  const [top, setTop] = useState(0);
  const [hover, setHover] = useState<(Pointed & { readonly instance: number }) | null>(null);
  const size = useSize(box);
  const rows = rowsOf(instances);
  const places = useMemo(() => placesOf(rows, isShown), [rows, isShown]);
  const window = part ?? run;
  const view: View = { top, height: size.height, canvasWidth: size.width, left: place.left, width: place.width, window };
  const latest = useRef({ props, view });
  latest.current = { props, view };
  useWheel(box, () => latest.current);

  useLayoutEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!canvas.current || !context || size.width === 0 || place.width <= 0) return;
    fitCanvas(canvas.current, size.width, size.height);
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    drawLanes(canvasPainter(context), rows, places, view, lookOf(props, measuredCharPx(context)));
  }, [rows, places, palette, size, top, place.left, place.width, window.fromNs, window.toNs, chosen, props.span, props.words]);

  const scrollTo = (instance: number): void => {
    const [element, rowTop] = [box.current, topOf(instance, rows, places)];
    if (element === null || rowTop < 0) return;
    if (rowTop - ROW_PX < element.scrollTop) element.scrollTop = Math.max(0, rowTop - 2 * ROW_PX);
    else if (rowTop + ROW_PX > element.scrollTop + element.clientHeight) element.scrollTop = rowTop + 2 * ROW_PX - element.clientHeight;
  };
  useEffect(() => scrollTo(chosen), [chosen, places]);

  const at = (event: MouseEvent): number => {
    const corner = canvas.current?.getBoundingClientRect();
    return corner ? instanceAt(event.clientX - corner.left, event.clientY - corner.top, rows, places, view) : -1;
  };
  const onPointerMove = (event: PointerEvent): void => {
    const drag = held.current;
    if (drag !== null) {
      drag.moved ||= Math.abs(event.clientX - drag.x) >= CLICK_PX;
      if (drag.moved) props.onWindow(moved(drag.window, run, (drag.x - event.clientX) / place.width));
      setHover(null);
      return;
    }
    const instance = at(event);
    setHover(instance < 0 ? null : { instance, x: event.clientX, y: event.clientY });
  };
  const onPointerUp = (event: PointerEvent): void => {
    if (held.current !== null && !held.current.moved) {
      const instance = at(event);
      props.onChoose(instance);
    }
    held.current = null;
  };
  const step = (key: string): number => {
    if (key === "ArrowLeft" || key === "ArrowRight") return rows.neighbour(chosen, key === "ArrowLeft" ? -1 : 1);
    if (key === "ArrowUp") return instances.outerOf(chosen);
    const inside = chosen + 1;
    return inside < instances.count && rows.levelOf(inside) === rows.levelOf(chosen) + 1 ? inside : -1;
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const { key } = event;
    if (key === "+" || key === "=") props.onWindow(zoomed(window, run, ZOOM_STEP, 0.5));
    else if (key === "-") props.onWindow(zoomed(window, run, 1 / ZOOM_STEP, 0.5));
    else if (key === "Escape") props.onWindow(null);
    else if (key === "Enter" && chosen >= 0) props.onOpen(chosen);
    else if (event.shiftKey && (key === "ArrowLeft" || key === "ArrowRight"))
      props.onWindow(moved(window, run, key === "ArrowLeft" ? -MOVE_STEP : MOVE_STEP));
    else if (key.startsWith("Arrow") && chosen >= 0) {
      const to = step(key);
      if (to >= 0) props.onChoose(to);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const height = Math.min(HEIGHT_MOST_PX, places.height);
  return (
    <figure class="chart lanes">
      <figcaption>
        <b>Scopes of each thread</b>
        <span class="at">{props.note}</span>
        <Buttons {...props} onPicture={() => canvas.current && savePng("scopes.png", canvas.current, palette.panel)} />
      </figcaption>
      <div
        class="lane-scroll"
        ref={box}
        style={{ height: `${height}px` }}
        tabIndex={0}
        role="application"
        aria-label={chosen >= 0 ? `Scopes of each thread: ${props.words.label(chosen)}` : "Scopes of each thread"}
        data-lanes="scopes"
        onScroll={() => setTop(box.current?.scrollTop ?? 0)}
        onKeyDown={onKeyDown}
      >
        <div style={{ height: `${places.height}px` }}>
          <canvas
            ref={canvas}
            style={{ position: "sticky", top: 0, width: `${size.width}px`, height: `${size.height}px` }}
            onPointerDown={(event) => {
              if (event.button !== 0) return;
              held.current = { x: event.clientX, window, moved: false };
              event.currentTarget.setPointerCapture(event.pointerId);
            }}
            onPointerMove={onPointerMove}
            onPointerUp={onPointerUp}
            onPointerLeave={() => setHover(null)}
            onDblClick={(event) => {
              const instance = at(event);
              if (instance >= 0) props.onOpen(instance);
            }}
          />
        </div>
      </div>
      {hover && <HoverCard at={hover}>{props.words.describe(hover.instance)}</HoverCard>}
    </figure>
  );
}
