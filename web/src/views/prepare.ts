// prepare.ts - prepares the data of views in idle time: a few milliseconds at a time,
// and not while the user drags, types or scrolls
import { useEffect } from "preact/hooks";
import { childrenOf } from "../data/branching";
import { instancesOf } from "../data/instances";
import type { Recording } from "../data/recording";
import { outermost } from "../data/sandwich";
import { labelsOf, stackWordsOf } from "../data/stack_words";
import { layoutOf } from "../flame/layout";
import { rowsOf } from "../lanes/layout";
import { namesOf } from "./node_names";

const COLUMNS = [
  "live_bytes",
  "runtime_live_bytes",
  "live_blocks",
  "runtime_live_blocks",
  "calls",
  "peak_bytes",
  "bytes",
] as const;
const SLICE_MS = 10; // the longest time that a key or a click may have to wait
const INPUTS = ["pointerdown", "pointermove", "pointerup", "pointercancel", "keydown", "wheel", "scroll"] as const;
const QUIET_MS = 300; // after one of these, to leave the processor to the user's request

function* pieces(recording: Recording): Generator<void> {
  for (const column of COLUMNS) {
    recording.column(column);
    yield;
  }
  recording.cutStacks(0);
  yield;
  void recording.series; // needed at each step of a brush
  yield;
  namesOf(recording);
  yield;
  childrenOf(recording.tree);
  yield;
  layoutOf(recording.tree);
  yield;
  outermost(recording.tree);
  yield;
  yield* labelsOf(recording).numbered();
  yield* stackWordsOf(recording).distinguished();
  recording.lifetimes(null);
  const instances = instancesOf(recording.document);
  if (instances === null) return;
  yield* instances.prepared();
  yield;
  rowsOf(instances);
}

export function usePrepared(recording: Recording): void {
  useEffect(() => {
    const left = pieces(recording);
    let [pending, timer, quietFrom] = [0, 0, 0];
    let isHeld = false; // a drag without movement is still a drag
    const later = (): void => void (pending = requestIdleCallback(goOn));
    const goOn = (): void => {
      const now = performance.now();
      if (isHeld || now < quietFrom) {
        timer = setTimeout(later, QUIET_MS);
        return;
      }
      let isDone = false;
      while (!isDone && performance.now() < now + SLICE_MS) isDone = left.next().done === true;
      if (!isDone) later();
    };
    const rest = (event: Event): void => {
      if (event instanceof PointerEvent) isHeld = event.buttons > 0;
      quietFrom = performance.now() + QUIET_MS;
    };
    for (const type of INPUTS) addEventListener(type, rest, { capture: true, passive: true });
    later();
    return () => {
      for (const type of INPUTS) removeEventListener(type, rest, { capture: true });
      cancelIdleCallback(pending);
      clearTimeout(timer);
    };
  }, [recording]);
}
