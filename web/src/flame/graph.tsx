// graph.tsx - a flame graph on a canvas of the size of its visible part, with zoom, hover, keys and a copy as SVG
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Branches } from "../data/branching";
import { fittedContext, measuredCharPx, useSize } from "../ui/canvas";
import { HoverCard, type Pointed } from "../ui/hover_card";
import { faded, mix, type Palette } from "../ui/palette";
import { saveSvg } from "../ui/save";
import { boxAt, draw, layoutOf, ROW_PX, type Box, type Layout, type Look, type Viewport } from "./layout";
import { canvasPainter, svgPainter } from "./painter";

export interface GraphSource {
  readonly tree: Branches;
  /** the current total of each node */
  readonly totals: Float64Array;
  /** totals that order the children: those of the whole run */
  readonly order: Float64Array;
  readonly label: (node: number) => string;
  readonly fill: (node: number) => string;
  /** null: there is no search */
  readonly found: ((node: number) => boolean) | null;
}

interface Props {
  readonly name: string;
  readonly source: GraphSource;
  readonly palette: Palette;
  readonly zoom: number;
  readonly chosen: number;
  readonly upwards?: boolean;
  readonly onZoom: (node: number) => void;
  readonly onChoose: (node: number) => void;
  /** called when a frame is double-clicked */
  readonly onOpen?: (node: number) => void;
  readonly describe: (node: number) => JSX.Element;
}

function lookOf({ source, palette, chosen, upwards }: Props, width: number): Look {
  const fadedFills = new Map<string, string>();
  const fillOf = (node: number): string => {
    const full = source.fill(node);
    if (!isFaded(node)) return full;
    let fill = fadedFills.get(full);
    if (fill === undefined) fadedFills.set(full, (fill = faded(full, palette)));
    return fill;
  };
  const isFaded = (node: number): boolean => source.found !== null && !source.found(node);
  return {
    label: source.label,
    fill: fillOf,
    ink: palette.text,
    fadedInk: palette.faint,
    faded: isFaded,
    ground: palette.panel,
    outline: palette.accent,
    band: mix(palette.faint, palette.panel, 0.25),
    charPx: width,
    marked: chosen,
    upwards: upwards === true,
  };
}

/** The neighbour of a frame in the direction of an arrow key. */
function neighbour(layout: Layout, box: Box, key: string, upwards: boolean): Box | null | undefined {
  const inwards = upwards ? "ArrowUp" : "ArrowDown";
  const outwards = upwards ? "ArrowDown" : "ArrowUp";
  const shown = (outer: Box | null): Box[] =>
    outer === null ? [] : layout.children(outer).filter((child) => layout.total(child) > 0);
  if (key === inwards) return shown(box)[0];
  if (key === outwards) return box.parent;
  const siblings = shown(box.parent);
  const at = siblings.indexOf(box);
  if (key === "ArrowRight") return siblings[at + 1];
  if (key === "ArrowLeft") return siblings[at - 1];
  return null;
}

export function FlameGraph(props: Props): JSX.Element {
  const { source, palette, zoom, chosen, upwards = false } = props;
  const scroll = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const size = useSize(scroll);
  const [top, setTop] = useState(0);
  const [hover, setHover] = useState<(Pointed & { readonly node: number }) | null>(null);
  const layout = layoutOf(source.tree);
  useMemo(() => layout.resize(source.totals, source.order), [layout, source.totals, source.order]);

  useEffect(() => {
    if (upwards && scroll.current) scroll.current.scrollTop = layout.rows * ROW_PX; // the root is at the bottom
  }, [layout, upwards, size.height]);

  const zoomed = layout.box(zoom) ?? layout.root;
  const rows = Math.max(layout.rows, Math.floor(size.height / ROW_PX));
  const view: Viewport = { ...size, top, rows, zoom: zoomed };
  useEffect(() => {
    const context = size.width === 0 ? null : fittedContext(canvas.current, size);
    if (context === null) return;
    draw(canvasPainter(context), layout, view, lookOf(props, measuredCharPx(context)));
  }, [source, layout, palette, size, top, zoom, chosen]);

  const at = (event: MouseEvent): Box | null => {
    const corner = canvas.current?.getBoundingClientRect();
    return corner ? boxAt(event.clientX - corner.left, event.clientY - corner.top, layout, view, { upwards }) : null;
  };
  const onMouseMove = (event: MouseEvent): void => {
    const box = at(event);
    setHover(box && { node: box.data, x: event.clientX, y: event.clientY });
  };
  const onClick = (event: MouseEvent): void => {
    const box = at(event);
    if (box === null) return;
    props.onChoose(box.data);
    props.onZoom(box.data);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const current = layout.box(chosen) ?? zoomed;
    if (event.key === "Enter") props.onZoom(current.data);
    else if (event.key === "Backspace") props.onZoom(zoomed.parent?.data ?? 0);
    else if (event.key === "Escape") props.onZoom(0);
    else if (event.key.startsWith("Arrow")) {
      const to = neighbour(layout, current, event.key, upwards);
      if (to) props.onChoose(to.data);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const save = (): void => {
    const painter = svgPainter(size.width, rows * ROW_PX, palette.panel);
    const look = lookOf(props, measuredCharPx(canvas.current!.getContext("2d")!));
    draw(painter, layout, { ...view, top: 0, height: rows * ROW_PX }, look);
    saveSvg(`${props.name}.svg`, painter.finish());
  };
  return (
    <>
      <div
        class="flame-scroll"
        ref={scroll}
        tabIndex={0}
        role="application"
        aria-label={`Flame graph: ${source.label(chosen >= 0 ? chosen : zoom)}`}
        data-graph={props.name}
        onScroll={() => setTop(scroll.current?.scrollTop ?? 0)}
        onKeyDown={onKeyDown}
      >
        <div style={{ height: `${rows * ROW_PX}px`, position: "relative" }}>
          <canvas
            ref={canvas}
            style={{ position: "sticky", top: 0, width: `${size.width}px`, height: `${size.height}px` }}
            onMouseMove={onMouseMove}
            onMouseLeave={() => setHover(null)}
            onClick={onClick}
            onDblClick={(event) => {
              const box = at(event);
              if (box) props.onOpen?.(box.data);
            }}
          />
        </div>
      </div>
      <button type="button" class="plain-button save-picture" onClick={save}>
        SVG
      </button>
      {hover && <HoverCard at={hover}>{props.describe(hover.node)}</HoverCard>}
    </>
  );
}
