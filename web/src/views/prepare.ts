// prepare.ts - prepares the data of views in idle time: a few milliseconds at a time,
// and not while the user drags, types or scrolls
import { useEffect } from "preact/hooks";
import { childrenOf } from "../data/branching";
import type { PageDocument } from "../data/document";
import { instancesOf } from "../data/instances";
import type { Recording } from "../data/recording";
import type { Content } from "../data/source";
import type { View } from "../state";
import { outermost } from "../data/sandwich";
import { labelsOf, stackWordsOf } from "../data/stack_words";
import { layoutOf } from "../flame/layout";
import { rowsOf } from "../lanes/layout";
import { recordingOf } from "./narrowed";
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

/** What several views need. */
function* common(recording: Recording): Generator<void> {
  for (const column of COLUMNS) {
    recording.column(column);
    yield;
  }
  recording.cutStacks(0);
  yield;
  void recording.series; // needed at each step of a brush
  yield;
}

function* ofFlame(recording: Recording): Generator<void> {
  namesOf(recording);
  yield;
  childrenOf(recording.tree);
  yield;
  layoutOf(recording.tree);
  yield;
}

function* all(recording: Recording): Generator<void> {
  yield* common(recording);
  yield* ofFlame(recording);
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

function* next(content: PageDocument, view: View): Generator<void> {
  const recording = recordingOf(content);
  yield;
  yield* common(recording);
  if (view === "flame") yield* ofFlame(recording);
}

/** Lets the browser do other work. */
function rest(): Promise<void> {
  return new Promise((resolve) => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => {
      channel.port1.close();
      resolve();
    };
    channel.port2.postMessage(null);
  });
}

/** Prepares what a view needs of the next document of a running program, so that showing it takes a short time. */
export async function prepareNext(content: Content, view: View): Promise<void> {
  if (content.schema !== "heapwright-page/1") return;
  const left = next(content, view);
  while (left.next().done !== true) await rest();
}

/** Prepares what other views need; not of a recording that the next one is about to replace. */
export function usePrepared(recording: Recording, stays: boolean): void {
  useEffect(() => {
    if (!stays) return;
    const left = all(recording);
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
  }, [recording, stays]);
}
