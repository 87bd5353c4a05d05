// brush.tsx - selects an interval or a moment of the run on a chart, by dragging, clicking or arrow keys
import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type uPlot from "uplot";
import { nearest } from "../data/recording";
import type { Span } from "../state";
import { momentText } from "../text/format";

const CLICK_PX = 4; // if the pointer moved less, it is a click: a moment, not an interval

interface Props {
  readonly plot: uPlot;
  /** the edges at which an interval may begin and end, ascending */
  readonly timesNs: Float64Array;
  readonly span: Span | null;
  readonly onSpan: (span: Span | null) => void;
}

export function Brush({ plot, timesNs, span, onSpan }: Props): JSX.Element {
  const last = timesNs.length - 1;
  const start = useRef<{ readonly index: number; readonly x: number } | null>(null); // of a drag, across renders
  const select = (a: number, b: number): void => {
    const [from, to] = [Math.max(0, Math.min(a, b)), Math.min(last, Math.max(a, b))];
    onSpan(from === 0 && to === last ? null : { fromNs: timesNs[from]!, toNs: timesNs[to]! });
  };
  useLayoutEffect(() => {
    const over = plot.over;
    const indexAt = (event: PointerEvent): number => {
      const left = event.clientX - over.getBoundingClientRect().left;
      return nearest(timesNs, plot.posToVal(left, "x"));
    };
    const down = (event: PointerEvent): void => {
      if (event.button !== 0) return;
      start.current = { index: indexAt(event), x: event.clientX };
      over.setPointerCapture(event.pointerId);
    };
    const move = (event: PointerEvent): void => {
      const from = start.current;
      if (from !== null && Math.abs(event.clientX - from.x) >= CLICK_PX) select(from.index, indexAt(event));
    };
    const up = (event: PointerEvent): void => {
      const from = start.current;
      if (from !== null && Math.abs(event.clientX - from.x) < CLICK_PX) select(from.index, from.index);
      start.current = null;
    };
    const cancel = (): void => {
      start.current = null; // the browser scrolls the page instead
    };
    const clear = (): void => onSpan(null);
    over.addEventListener("pointerdown", down);
    over.addEventListener("pointermove", move);
    over.addEventListener("pointerup", up);
    over.addEventListener("pointercancel", cancel);
    over.addEventListener("dblclick", clear);
    return () => {
      over.removeEventListener("pointerdown", down);
      over.removeEventListener("pointermove", move);
      over.removeEventListener("pointerup", up);
      over.removeEventListener("pointercancel", cancel);
      over.removeEventListener("dblclick", clear);
    };
  }, [plot, timesNs, onSpan]);

  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Escape") onSpan(null);
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    event.stopPropagation();
    const from = span === null ? 0 : nearest(timesNs, span.fromNs);
    const to = span === null ? 0 : nearest(timesNs, span.toNs);
    if (event.shiftKey) select(from, Math.max(from, to + step));
    else if (from + step >= 0 && to + step <= last) select(from + step, to + step);
  };

  const { left, top, width, height } = plot.bbox;
  const ratio = devicePixelRatio;
  const px = (timeNs: number): number => plot.valToPos(timeNs, "x");
  const words = span === null ? "the whole run" : `${momentText(span.fromNs, 1e6)} to ${momentText(span.toNs, 1e6)}`;
  return (
    <div
      class="brush"
      style={{ left: `${left / ratio}px`, top: `${top / ratio}px`, width: `${width / ratio}px`, height: `${height / ratio}px` }}
      tabIndex={0}
      role="slider"
      aria-label="Interval"
      aria-valuetext={words}
      aria-valuemin={0}
      aria-valuemax={last}
      aria-valuenow={span === null ? 0 : nearest(timesNs, span.toNs)}
      onKeyDown={onKeyDown}
    >
      {span !== null && (
        <>
          <i class="outside" style={{ left: 0, width: `${Math.max(0, px(span.fromNs))}px` }} />
          <i class="outside" style={{ left: `${px(span.toNs)}px`, right: 0 }} />
          <i class="inside" style={{ left: `${px(span.fromNs)}px`, width: `${px(span.toNs) - px(span.fromNs)}px` }} />
        </>
      )}
    </div>
  );
}
