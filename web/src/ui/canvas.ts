// canvas.ts - the size of a canvas, and of the characters of its monospaced font
import type { RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";
import { FONT } from "../flame/painter";

export interface Size {
  readonly width: number;
  readonly height: number;
}

let charPx = 0;

/** The width of a character: the font is monospaced, so that fitting a name needs no measuring. */
export function measuredCharPx(context: CanvasRenderingContext2D): number {
  if (charPx === 0) {
    context.font = FONT;
    charPx = context.measureText("m".repeat(100)).width / 100;
  }
  return charPx;
}

/** Its context, at the size of its element. The size is set only if it changed: each setting would allocate new memory. */
export function fittedContext(canvas: HTMLCanvasElement | null, { width: widthPx, height: heightPx }: Size): CanvasRenderingContext2D | null {
  const context = canvas?.getContext("2d");
  if (!canvas || !context) return null;
  const [width, height] = [Math.round(widthPx * devicePixelRatio), Math.round(heightPx * devicePixelRatio)];
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
  context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
  return context;
}

/** The size of the visible part of a scrolled element; 0 until it is known. */
export function useSize(box: RefObject<HTMLElement | null>): Size {
  const [size, setSize] = useState<Size>({ width: 0, height: 0 });
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
