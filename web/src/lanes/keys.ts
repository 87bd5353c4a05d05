// keys.ts - the keys of the lanes: they zoom, move, and go from the chosen instance to those next to it
import type { Instances, Lane } from "../data/instances";
import { rowsOf } from "./layout";
import { moved, movedTo, zoomedIn, zoomedOut, type Times } from "./window";

const MOVE_STEP = 0.2; // of the times that are shown

export interface Choice {
  readonly instances: Instances;
  readonly isShown: (lane: Lane) => boolean;
  /** -1: none */
  readonly chosen: number;
  readonly onChoose: (instance: number) => void;
  /** turns every view to an instance */
  readonly onOpen: (instance: number) => void;
}

type Props = Times & Choice;

/** An instance of the next (1) or previous (-1) lane, at the time of the chosen one; of the first lane, if none is chosen; -1: none. */
function inLane({ instances, isShown, chosen, window }: Props, step: 1 | -1): number {
  const rows = rowsOf(instances);
  const lanes = instances.lanes.filter(isShown);
  const own = lanes.findIndex(({ first, end }) => first <= chosen && chosen < end);
  const lane = lanes[own < 0 ? 0 : own + step];
  return lane === undefined ? -1 : rows.outermostAfter(lane, own < 0 ? window.fromNs : rows.timesOf(chosen)[0]);
}

/** The instance in the direction of an arrow key; -1: none. */
function nextOf(props: Props, arrow: string): number {
  const { instances, chosen } = props;
  if (chosen < 0) return inLane(props, 1);
  if (arrow === "ArrowLeft" || arrow === "ArrowRight") return rowsOf(instances).neighbour(chosen, arrow === "ArrowLeft" ? -1 : 1);
  const next = arrow === "ArrowUp" ? instances.outerOf(chosen) : instances.innerOf(chosen);
  return next >= 0 ? next : inLane(props, arrow === "ArrowUp" ? -1 : 1);
}

/** Chooses an instance, which is visible then. */
function choose({ instances, run, window, onWindow, onChoose }: Props, instance: number): void {
  const [begin, end] = rowsOf(instances).timesOf(instance);
  onChoose(instance);
  if (end < window.fromNs || begin > window.toNs) onWindow(movedTo(window, run, (begin + end) / 2));
}

/** Where the chosen instance is in the window, so that it stays there; the middle, if it is elsewhere. */
function shareOf({ instances, chosen, window: { fromNs, toNs } }: Props): number {
  const [begin, end] = chosen < 0 ? [fromNs, toNs] : rowsOf(instances).timesOf(chosen);
  const share = ((begin + end) / 2 - fromNs) / (toNs - fromNs);
  return share >= 0 && share <= 1 ? share : 0.5;
}

/** Returns false if the key has no meaning here. */
function obeys({ key, shiftKey }: KeyboardEvent, props: Props): boolean {
  const { run, window, onWindow, chosen } = props;
  if (key === "+" || key === "=") onWindow(zoomedIn(window, run, shareOf(props)));
  else if (key === "-") onWindow(zoomedOut(window, run, shareOf(props)));
  else if (key === "Escape") onWindow(null);
  else if (shiftKey && (key === "ArrowLeft" || key === "ArrowRight")) onWindow(moved(window, run, key === "ArrowLeft" ? -MOVE_STEP : MOVE_STEP));
  else if (key === "Enter" && chosen >= 0) props.onOpen(chosen);
  else if (key.startsWith("Arrow")) {
    const next = nextOf(props, key);
    if (next >= 0) choose(props, next);
  } else return false;
  return true;
}

export function onLaneKey(event: KeyboardEvent, props: Props): void {
  if (!obeys(event, props)) return;
  event.preventDefault();
  event.stopPropagation();
}
