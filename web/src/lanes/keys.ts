// keys.ts - the keys of the lanes: they zoom, move, and go from the chosen instance to those next to it
import type { Instances } from "../data/instances";
import { rowsOf } from "./layout";
import { moved, zoomedIn, zoomedOut, type Times } from "./window";

const MOVE_STEP = 0.2; // of the times that are shown

export interface Choice {
  readonly instances: Instances;
  /** -1: none */
  readonly chosen: number;
  readonly onChoose: (instance: number) => void;
  /** turns every view to an instance */
  readonly onOpen: (instance: number) => void;
}

/** The instance in the direction of an arrow key; -1: none. */
function nextOf({ instances, chosen }: Choice, arrow: string): number {
  if (arrow === "ArrowUp") return instances.outerOf(chosen);
  if (arrow === "ArrowDown") return instances.innerOf(chosen);
  return rowsOf(instances).neighbour(chosen, arrow === "ArrowLeft" ? -1 : 1);
}

/** Returns false if the key has no meaning here. */
function obeys({ key, shiftKey }: KeyboardEvent, props: Times & Choice): boolean {
  const { run, window, onWindow, chosen } = props;
  if (key === "+" || key === "=") onWindow(zoomedIn(window, run));
  else if (key === "-") onWindow(zoomedOut(window, run));
  else if (key === "Escape") onWindow(null);
  else if (shiftKey && (key === "ArrowLeft" || key === "ArrowRight")) onWindow(moved(window, run, key === "ArrowLeft" ? -MOVE_STEP : MOVE_STEP));
  else if (chosen < 0) return false;
  else if (key === "Enter") props.onOpen(chosen);
  else if (key.startsWith("Arrow")) {
    const next = nextOf(props, key);
    if (next >= 0) props.onChoose(next);
  } else return false;
  return true;
}

export function onLaneKey(event: KeyboardEvent, props: Times & Choice): void {
  if (!obeys(event, props)) return;
  event.preventDefault();
  event.stopPropagation();
}
