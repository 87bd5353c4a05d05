// chart_marks.ts - what is drawn over the curves of a chart: named moments, and the part of which not all is known
import uPlot from "uplot";
import type { Palette } from "./palette";

const LABELS_PER_HEIGHT = 4; // the label would hide a lower chart

export interface Mark {
  readonly timeNs: number;
  readonly label: string;
}

/** The begin of the run, of which not all is known. */
export interface Dropped {
  readonly untilNs: number;
  /** what is known of it */
  readonly label: string;
}

/** Hatches the part of which not all is known, behind its label. */
export function drawDropped(plot: uPlot, dropped: Dropped | undefined, palette: Palette): void {
  const { ctx, bbox } = plot;
  const right = dropped === undefined ? bbox.left : Math.min(bbox.left + bbox.width, plot.valToPos(dropped.untilNs, "x", true));
  if (dropped === undefined || right <= bbox.left) return;
  const step = 8 * uPlot.pxRatio;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, right - bbox.left, bbox.height);
  ctx.clip();
  ctx.strokeStyle = palette.faint;
  ctx.lineWidth = uPlot.pxRatio;
  ctx.globalAlpha = 0.25;
  ctx.beginPath();
  for (let x = bbox.left - bbox.height; x < right; x += step) {
    ctx.moveTo(x, bbox.top + bbox.height);
    ctx.lineTo(x + bbox.height, bbox.top);
  }
  ctx.stroke();
  ctx.restore();
  drawDroppedLabel(plot, dropped, right - bbox.left, palette);
}

/** Left out where there is no room. */
function drawDroppedLabel({ ctx, bbox }: uPlot, { label }: Dropped, room: number, palette: Palette): void {
  const [gap, height] = [4 * uPlot.pxRatio, 15 * uPlot.pxRatio];
  if (bbox.height < LABELS_PER_HEIGHT * height) return;
  ctx.save();
  ctx.font = `${11 * uPlot.pxRatio}px system-ui, sans-serif`;
  const width = ctx.measureText(label).width + 2 * gap;
  if (width <= room) {
    ctx.globalAlpha = 0.8;
    ctx.fillStyle = palette.panel;
    ctx.fillRect(bbox.left, bbox.top, width, height);
    ctx.globalAlpha = 1;
    ctx.fillStyle = palette.faint;
    ctx.textAlign = "left";
    ctx.textBaseline = "middle";
    ctx.fillText(label, bbox.left + gap, bbox.top + height / 2);
  }
  ctx.restore();
}

export function drawMarks(plot: uPlot, marks: readonly Mark[], palette: Palette): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.font = `${11 * uPlot.pxRatio}px system-ui, sans-serif`;
  ctx.textAlign = "left";
  ctx.textBaseline = "alphabetic";
  ctx.strokeStyle = ctx.fillStyle = palette.mark;
  ctx.lineWidth = uPlot.pxRatio;
  ctx.setLineDash([3 * uPlot.pxRatio, 3 * uPlot.pxRatio]);
  let freeFrom = -Infinity; // labels that would overlap are left out, but not their lines
  for (const { timeNs, label } of marks) {
    const x = Math.round(plot.valToPos(timeNs, "x", true));
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    const width = ctx.measureText(label).width;
    const left = Math.min(x, bbox.left + bbox.width - width);
    if (left < freeFrom) continue;
    ctx.fillText(label, left, bbox.top - 5 * uPlot.pxRatio);
    freeFrom = left + width + 6 * uPlot.pxRatio;
  }
  ctx.restore();
}
