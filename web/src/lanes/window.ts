// window.ts - the part of the run that the timeline shows: zoomed and moved within the run
import type { Span } from "../state";

const LEAST_NS = 100;
const ZOOM_STEP = 1.5;

/** The times that are shown, and how others are shown. */
export interface Times {
  readonly run: Span;
  readonly window: Span;
  /** null: the whole run */
  readonly onWindow: (window: Span | null) => void;
}

/** null: it would be the whole run. */
function within(fromNs: number, lengthNs: number, run: Span): Span | null {
  const length = Math.round(lengthNs);
  if (length >= run.toNs - run.fromNs) return null;
  const from = Math.round(Math.min(Math.max(fromNs, run.fromNs), run.toNs - length));
  return { fromNs: from, toNs: from + length };
}

/** `factor` above 1 zooms in. The time at `share` of the window stays where it is. */
export function zoomed({ fromNs, toNs }: Span, run: Span, factor: number, share: number): Span | null {
  const length = Math.max(Math.min(LEAST_NS, run.toNs - run.fromNs), (toNs - fromNs) / factor);
  return within(fromNs + share * (toNs - fromNs - length), length, run);
}

export function zoomedIn(window: Span, run: Span, share = 0.5): Span | null {
  return zoomed(window, run, ZOOM_STEP, share);
}

export function zoomedOut(window: Span, run: Span, share = 0.5): Span | null {
  return zoomed(window, run, 1 / ZOOM_STEP, share);
}

/** Moved by a share of its length. */
export function moved({ fromNs, toNs }: Span, run: Span, share: number): Span | null {
  return within(fromNs + share * (toNs - fromNs), toNs - fromNs, run);
}

/** Moved so that a time is in the middle, as far as possible. */
export function movedTo({ fromNs, toNs }: Span, run: Span, ns: number): Span | null {
  return within(ns - (toNs - fromNs) / 2, toNs - fromNs, run);
}
