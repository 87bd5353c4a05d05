// draw.ts - draws the lanes of threads: under the name of each thread its instances, those inside below those around
import type { Lane } from "../data/instances";
import type { Painter } from "../flame/painter";
import type { Span } from "../state";
import type { Piece, Row, Rows } from "./layout";

export const [ROW_PX, HEAD_PX] = [18, 22];
const LANE_GAP_PX = 6;
const TEXT_LEFT_PX = 4;
const TEXT_MIN_PX = 26;
const GAP_MIN_PX = 4; // narrower instances have no gap between them
const LABEL_MOST = 300; // characters: no instance is wider

export interface Place {
  readonly lane: Lane;
  readonly top: number;
  readonly rows: readonly Row[];
}

export interface Places {
  readonly places: readonly Place[];
  readonly height: number;
}

/** The lanes below each other. */
export function placesOf({ rows }: Rows, isShown: (lane: Lane) => boolean): Places {
  const places: Place[] = [];
  let height = 0;
  for (let at = 0; at < rows.length; ) {
    const { lane } = rows[at]!;
    if (isShown(lane)) {
      places.push({ lane, top: height, rows: rows.slice(at, at + lane.levels) });
      height += HEAD_PX + lane.levels * ROW_PX + LANE_GAP_PX;
    }
    at += lane.levels;
  }
  return { places, height };
}

/** The visible part: `top` is how far it is scrolled. Times begin at `left`, and take `span`. */
export interface View {
  readonly top: number;
  readonly height: number;
  /** of the canvas */
  readonly canvasWidth: number;
  readonly left: number;
  readonly width: number;
  readonly window: Span;
}

/** What a drawing shows of lanes and instances. */
export interface LaneWords {
  readonly head: (lane: Lane) => string;
  readonly label: (instance: number) => string;
  readonly fill: (instance: number, hasCalls: boolean) => string;
}

export interface Look extends LaneWords {
  readonly ink: string;
  readonly faintInk: string;
  readonly ground: string;
  readonly outline: string;
  readonly charPx: number;
  readonly chosen: number;
  /** the interval that the views show */
  readonly span: Span | null;
  readonly wash: string;
}

function fitted(text: string, widthPx: number, charPx: number): string {
  const room = Math.floor(widthPx / charPx);
  return text.length <= room ? text : `${text.slice(0, Math.max(0, room - 1))}…`;
}

/** What a drawing is made of. */
interface Drawing {
  readonly painter: Painter;
  readonly rows: Rows;
  readonly view: View;
  readonly look: Look;
}

function drawPiece({ painter, view: { left }, look }: Drawing, piece: Piece, top: number): void {
  const width = piece.right - piece.left;
  const gap = width >= GAP_MIN_PX ? 1 : 0;
  const fill = look.fill(piece.instance, piece.hasCalls);
  painter.rect(left + piece.left, top, width - gap, ROW_PX - 1, fill);
  if (piece.count === 1 && width >= TEXT_MIN_PX) {
    const text = fitted(look.label(piece.instance).slice(0, LABEL_MOST), width - 2 * TEXT_LEFT_PX, look.charPx);
    painter.text(left + piece.left + TEXT_LEFT_PX, top + ROW_PX / 2, text, piece.hasCalls ? look.ink : look.faintInk);
  }
}

/** Joins adjacent pieces of one colour that have no text, so that fewer rectangles are drawn. */
function drawRow(drawing: Drawing, row: Row, top: number): void {
  const { painter, rows, view, look } = drawing;
  let [from, to, fill] = [0, 0, ""];
  const flush = (): void => {
    if (to > from) painter.rect(view.left + from, top, to - from, ROW_PX - 1, fill);
    to = from = 0;
  };
  rows.visit(row, view.window, view.width, (piece) => {
    if (piece.right - piece.left >= GAP_MIN_PX) {
      flush();
      drawPiece(drawing, piece, top);
      return;
    }
    const own = look.fill(piece.instance, piece.hasCalls);
    if (own !== fill || piece.left > to) {
      flush();
      from = piece.left;
      fill = own;
    }
    to = Math.max(to, piece.right);
  });
  flush();
}

/** Draws an outline around the chosen instance, which is at least as wide as can be seen. */
function drawChosen({ painter, rows, view, look: { chosen, outline } }: Drawing, row: Row, top: number): void {
  if (chosen < row.lane.first || chosen >= row.lane.end || rows.levelOf(chosen) !== row.level) return;
  const [begin, end] = rows.timesOf(chosen);
  const { fromNs, toNs } = view.window;
  if (end < fromNs || begin > toNs) return;
  const scale = view.width / (toNs - fromNs);
  const left = view.left + Math.max(0, (begin - fromNs) * scale);
  const right = Math.max(left + 3, view.left + Math.min(view.width, (end - fromNs) * scale));
  const height = ROW_PX - 1;
  painter.rect(left, top, right - left, 2, outline);
  painter.rect(left, top + height - 2, right - left, 2, outline);
  painter.rect(left, top, 2, height, outline);
  painter.rect(right - 2, top, 2, height, outline);
}

function drawSpan({ painter, view, look }: Drawing): void {
  if (look.span === null) return;
  const { fromNs, toNs } = view.window;
  const px = (ns: number): number => Math.min(view.width, Math.max(0, ((ns - fromNs) * view.width) / (toNs - fromNs)));
  const [from, to] = [px(look.span.fromNs), px(look.span.toNs)];
  if (to > from) painter.rect(view.left + from, 0, to - from, view.height, look.wash);
}

export function drawLanes(painter: Painter, rows: Rows, { places }: Places, view: View, look: Look): void {
  painter.rect(0, 0, view.canvasWidth, view.height, look.ground);
  const drawing = { painter, rows, view, look };
  drawSpan(drawing);
  for (const place of places) {
    const top = place.top - view.top;
    if (top > view.height) return;
    if (top + HEAD_PX > 0) painter.text(view.left, top + HEAD_PX / 2 + 2, fitted(look.head(place.lane), view.width, look.charPx), look.faintInk);
    place.rows.forEach((row, level) => {
      const rowTop = top + HEAD_PX + level * ROW_PX;
      if (rowTop + ROW_PX < 0 || rowTop > view.height) return;
      drawRow(drawing, row, rowTop);
      drawChosen(drawing, row, rowTop);
    });
  }
}

/** The instance at a position of the canvas; -1: none. */
export function instanceAt(x: number, y: number, rows: Rows, { places }: Places, view: View): number {
  const nearPx = 2;
  const fromTop = y + view.top;
  const place = places.filter(({ top }) => top <= fromTop).at(-1);
  const level = place === undefined ? -1 : Math.floor((fromTop - place.top - HEAD_PX) / ROW_PX);
  const row = place?.rows[level];
  if (row === undefined || x < view.left || x > view.left + view.width) return -1;
  const nsPx = (view.window.toNs - view.window.fromNs) / view.width;
  return rows.at(row, view.window.fromNs + (x - view.left) * nsPx, nearPx * nsPx);
}

/** Where the row of an instance begins; -1: its lane is not shown. */
export function topOf(instance: number, rows: Rows, { places }: Places): number {
  const place = places.find(({ lane }) => lane.first <= instance && instance < lane.end);
  return place === undefined ? -1 : place.top + HEAD_PX + rows.levelOf(instance) * ROW_PX;
}
