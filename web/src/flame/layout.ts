// layout.ts - the positions of the frames of a flame graph: d3-hierarchy holds the structure and divides widths,
// this file draws
//
// The structure is created as far as it is visited; a new cost or interval only gives it new totals. Widths are shares
// of the whole (0 to 1) and depths are rows, so that a zoom only changes the scale. A frame's children are created and
// placed on first use: of tens of thousands of frames only a few hundred are wide enough to be visible, and only these
// are placed again at each step of a drag. Children keep the order that they have for the whole run, since the user
// cannot follow frames that change places while an interval is dragged.
import { hierarchy, treemapDice, type HierarchyRectangularNode } from "d3-hierarchy";
import { childrenOf, type Branches } from "../data/branching";
import { cachedFor } from "../data/cached";
import type { Painter } from "./painter";

export const ROW_PX = 20;
const TEXT_LEFT_PX = 4;
const TEXT_MIN_PX = 26; // narrower frames have no space for a word
const GAP_MIN_PX = 6;
const NARROW_PX = 2; // narrower frames are drawn as one band with their neighbours
const DRAWN_MIN_PX = 0.4;

export type Box = HierarchyRectangularNode<number>;

export class Layout {
  readonly root: Box = hierarchy(0) as Box;
  readonly rows: number;
  readonly #tree: Branches;
  readonly #boxes: (Box | undefined)[]; // by node: the boxes created so far
  #order: Float64Array = new Float64Array();
  #totals: Float64Array = new Float64Array();
  #sorted = new Uint8Array(); // by node: whether its children are in order
  #placed = new Uint8Array(); // by node: whether its children are placed

  constructor(tree: Branches) {
    this.#tree = tree;
    this.#boxes = new Array<Box | undefined>(tree.parent.length);
    this.#boxes[0] = this.root;
    const depth = new Int32Array(tree.parent.length);
    for (let node = 1; node < depth.length; node++) depth[node] = depth[tree.parent[node]!]! + 1;
    this.rows = depth.reduce((most, own) => Math.max(most, own)) + 1;
  }

  /** The box of a node, created together with its ancestors; undefined: there is no such node. */
  box(node: number): Box | undefined {
    const way: number[] = [];
    const { parent } = this.#tree;
    for (let up = node; up in parent && this.#boxes[up] === undefined; up = parent[up]!) way.push(parent[up]!);
    for (const outer of way.reverse()) this.#childrenOf(this.#boxes[outer]!);
    return this.#boxes[node];
  }

  #childrenOf(box: Box): Box[] {
    return (box.children ??= childrenOf(this.#tree)[box.data]!.map((node) =>
      (this.#boxes[node] = Object.assign(hierarchy(node) as Box, { parent: box, depth: box.depth + 1 })),
    ));
  }

  /** `totals` are the current widths of the nodes. `order` are the totals that order the children, the largest first. */
  resize(totals: Float64Array, order: Float64Array): void {
    if (order !== this.#order) this.#sorted = new Uint8Array(this.#boxes.length);
    this.#order = order;
    this.#totals = totals;
    this.#placed = new Uint8Array(this.#boxes.length);
    Object.assign(this.root, { x0: 0, x1: 1 });
  }

  total(box: Box): number {
    return this.#totals[box.data]!;
  }

  /** The children of a box, placed, from left to right. */
  children(box: Box): readonly Box[] {
    const children = this.#childrenOf(box);
    if (children.length === 0 || this.#placed[box.data] === 1) return children;
    if (box.parent && this.#placed[box.parent.data] === 0) this.place(box); // the parent is placed before its width is divided
    this.#placed[box.data] = 1;
    if (this.#sorted[box.data] === 0) {
      children.sort((a, b) => this.#order[b.data]! - this.#order[a.data]! || a.data - b.data);
      this.#sorted[box.data] = 1;
    }
    for (const sized of [box, ...children]) (sized as { value?: number }).value = this.total(sized); // the widths to divide by
    treemapDice(box, box.x0, box.depth, box.x1, box.depth + 1);
    return children;
  }

  /** Places a box and its ancestors. */
  place(box: Box): void {
    for (const outer of box.ancestors().reverse()) if (outer !== box) this.children(outer);
  }
}

/** The layout of a tree. */
export const layoutOf = cachedFor((tree: Branches) => new Layout(tree));

export interface Look {
  readonly label: (node: number) => string;
  readonly fill: (node: number) => string;
  readonly ink: string;
  readonly fadedInk: string;
  readonly faded: (node: number) => boolean;
  readonly ground: string;
  readonly outline: string;
  readonly band: string;
  readonly charPx: number;
  /** the node that is drawn with a border; -1: none */
  readonly marked: number;
  /** rows grow upwards */
  readonly upwards: boolean;
}

export interface Viewport {
  readonly width: number;
  readonly height: number;
  readonly top: number; // px scrolled
  readonly rows: number; // all rows, for a graph that grows upwards
  readonly zoom: Box;
}

function rowTop(row: number, view: Viewport, look: Look): number {
  return (look.upwards ? view.rows - 1 - row : row) * ROW_PX - view.top;
}

/** The position of a frame in pixels: left and width. Ancestors of the zoomed frame take the whole width. */
export function extent(box: Box, view: Viewport): [number, number] {
  const { zoom, width } = view;
  const scale = width / Math.max(zoom.x1 - zoom.x0, Number.MIN_VALUE);
  const left = Math.max(0, (box.x0 - zoom.x0) * scale);
  return [left, Math.min(width, (box.x1 - zoom.x0) * scale) - left];
}

function drawBox(painter: Painter, box: Box, view: Viewport, look: Look): void {
  const [left, width] = extent(box, view);
  const top = rowTop(box.depth, view, look);
  if (top + ROW_PX < 0 || top > view.height) return;
  const gap = width >= GAP_MIN_PX ? 1 : 0;
  const node = box.data;
  if (node === look.marked) {
    painter.rect(left, top, width - gap, ROW_PX - 1, look.outline);
    painter.rect(left + 2, top + 2, Math.max(0, width - gap - 4), ROW_PX - 5, look.fill(node));
  } else painter.rect(left, top, width - gap, ROW_PX - 1, look.fill(node));
  if (width < TEXT_MIN_PX) return;
  const room = Math.floor((width - 2 * TEXT_LEFT_PX) / look.charPx);
  const label = look.label(node).slice(0, 1000); // no frame is that wide
  const text = label.length <= room ? label : `${label.slice(0, Math.max(0, room - 1))}…`;
  painter.text(left + TEXT_LEFT_PX, top + ROW_PX / 2, text, look.faded(node) ? look.fadedInk : look.ink);
}

/**
 * Returns the children of a frame that are wide enough to be drawn; the narrow ones between them are drawn here, as
 * bands.
 */
function wideChildren(painter: Painter, layout: Layout, box: Box, view: Viewport, look: Look): Box[] {
  const wide: Box[] = [];
  const top = rowTop(box.depth + 1, view, look);
  let [from, to] = [0, 0];
  const endBand = (): void => {
    if (to - from >= DRAWN_MIN_PX) painter.rect(from, top, to - from, ROW_PX - 1, look.band);
    to = from = 0;
  };
  for (const child of layout.children(box)) {
    const [left, width] = extent(child, view);
    if (width >= NARROW_PX) {
      endBand();
      wide.push(child);
    } else if (width > 0) {
      if (to === from) from = left;
      to = left + width;
    }
  }
  endBand();
  return wide;
}

/** Draws the visible part. Children of frames that are too narrow to be distinguished are left out. */
export function draw(painter: Painter, layout: Layout, view: Viewport, look: Look): void {
  layout.place(view.zoom);
  painter.rect(0, 0, view.width, view.height, look.ground);
  for (let box = view.zoom.parent; box; box = box.parent) drawBox(painter, box, view, look);
  const left: Box[] = [view.zoom];
  for (let box = left.pop(); box; box = left.pop()) {
    drawBox(painter, box, view, look);
    left.push(...wideChildren(painter, layout, box, view, look));
  }
}

/** The frame at a position, in pixels of the viewport. */
export function boxAt(x: number, y: number, layout: Layout, view: Viewport, look: Pick<Look, "upwards">): Box | null {
  const fromTop = Math.floor((y + view.top) / ROW_PX);
  const row = look.upwards ? view.rows - 1 - fromTop : fromTop;
  if (row < 0) return null;
  for (let box: Box | null = view.zoom; box && row <= view.zoom.depth; box = box.parent) if (box.depth === row) return box;
  let box: Box | undefined = view.zoom;
  while (box && box.depth < row)
    box = layout.children(box).find((child) => {
      const [left, width] = extent(child, view);
      return x >= left && x < left + width;
    });
  return box ?? null;
}
