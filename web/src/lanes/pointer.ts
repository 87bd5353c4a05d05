// pointer.ts - the pointer on the lanes: a click chooses an instance, a drag and the wheel show other times
import type { HTMLAttributes, RefObject, TargetedPointerEvent } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Span } from "../state";
import type { PlotPlace } from "../ui/chart";
import type { Pointed } from "../ui/hover_card";
import type { Choice } from "./keys";
import { moved, zoomed, type Times } from "./window";

const CLICK_PX = 4; // if the pointer moved less, it is a click

interface Wheeled extends Times {
  readonly plot: PlotPlace;
}

/** Zooms at the pointer and moves by the wheel. The listener is not passive: otherwise the browser would zoom the page. */
export function useWheel(box: RefObject<HTMLElement | null>, props: Wheeled): void {
  const latest = useRef(props);
  latest.current = props;
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const onWheel = (event: WheelEvent): void => {
      const { run, window, onWindow, plot } = latest.current;
      const sideways = event.shiftKey ? event.deltaY : event.deltaX;
      if (!event.ctrlKey && sideways === 0) return; // it scrolls the lanes or the page
      event.preventDefault();
      const x = event.clientX - element.getBoundingClientRect().left - plot.left;
      if (event.ctrlKey) onWindow(zoomed(window, run, Math.exp(-event.deltaY / 200), x / plot.width));
      else onWindow(moved(window, run, sideways / plot.width));
    };
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => element.removeEventListener("wheel", onWheel);
  }, []);
}

interface Hovered extends Pointed {
  readonly instance: number;
}

interface Handlers {
  /** the instance under the pointer */
  readonly hovered: Hovered | null;
  readonly handlers: HTMLAttributes<HTMLCanvasElement>;
}

/** `at`: the instance at the position of an event; -1: none. */
export function usePointer(props: Wheeled & Choice, at: (event: MouseEvent) => number): Handlers {
  const { run, window, onWindow, plot, onChoose, onOpen } = props;
  const drag = useRef<{ readonly x: number; readonly window: Span; isClick: boolean } | null>(null);
  const [hovered, setHovered] = useState<Hovered | null>(null);
  const onPointerDown = (event: TargetedPointerEvent<HTMLCanvasElement>): void => {
    if (event.button !== 0) return;
    drag.current = { x: event.clientX, window, isClick: true };
    event.currentTarget.setPointerCapture(event.pointerId);
  };
  const onPointerMove = (event: PointerEvent): void => {
    if (drag.current === null) {
      const instance = at(event);
      setHovered(instance < 0 ? null : { instance, x: event.clientX, y: event.clientY });
      return;
    }
    const { x, window: before } = drag.current;
    drag.current.isClick &&= Math.abs(event.clientX - x) < CLICK_PX;
    if (!drag.current.isClick) onWindow(moved(before, run, (x - event.clientX) / plot.width));
    setHovered(null);
  };
  const onPointerUp = (event: PointerEvent): void => {
    if (drag.current?.isClick === true) onChoose(at(event));
    drag.current = null;
  };
  const onPointerCancel = (): void => {
    drag.current = null; // the browser scrolls the page instead
  };
  const onDblClick = (event: MouseEvent): void => {
    const instance = at(event);
    if (instance >= 0) onOpen(instance);
  };
  return { hovered, handlers: { onPointerDown, onPointerMove, onPointerUp, onPointerCancel, onPointerLeave: () => setHovered(null), onDblClick } };
}
