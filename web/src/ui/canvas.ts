// canvas.ts - the size of a canvas, and of the characters of its monospaced font
import { FONT } from "../flame/painter";

let charPx = 0;

/** The width of a character: the font is monospaced, so that fitting a name needs no measuring. */
export function measuredCharPx(context: CanvasRenderingContext2D): number {
  if (charPx === 0) {
    context.font = FONT;
    charPx = context.measureText("m".repeat(100)).width / 100;
  }
  return charPx;
}

/** Sets the size of a canvas, unless it has it already: each setting would allocate new memory. */
export function fitCanvas(canvas: HTMLCanvasElement, widthPx: number, heightPx: number): void {
  const [width, height] = [Math.round(widthPx * devicePixelRatio), Math.round(heightPx * devicePixelRatio)];
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
}
