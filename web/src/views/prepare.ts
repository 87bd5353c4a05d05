// prepare.ts - makes what views are drawn from while nobody waits for it: for a few milliseconds at a time, a piece after another
import { useEffect } from "preact/hooks";
import type { Recording } from "../data/recording";
import { labelsOf, stackWordsOf } from "../data/stack_words";
import { layoutOf } from "../flame/layout";
import { namesOf } from "./node_names";

const SLICE_MS = 10; // after so many whoever types or clicks has to wait no longer

function* pieces(recording: Recording): Generator<void> {
  for (const column of ["live_bytes", "runtime_live_bytes", "live_blocks", "runtime_live_blocks", "calls", "peak_bytes", "bytes"] as const) {
    recording.column(column);
    yield;
  }
  recording.cutStacks(0);
  yield;
  namesOf(recording);
  yield;
  layoutOf(recording.tree);
  yield;
  yield* labelsOf(recording).numbered();
  yield* stackWordsOf(recording).toldApart();
  recording.lifetimes();
  yield;
  void recording.series;
}

export function usePrepared(recording: Recording): void {
  useEffect(() => {
    const left = pieces(recording);
    let pending = 0;
    const goOn = (): void => {
      const until = performance.now() + SLICE_MS;
      let isDone = false;
      while (!isDone && performance.now() < until) isDone = left.next().done === true;
      if (!isDone) pending = requestIdleCallback(goOn);
    };
    pending = requestIdleCallback(goOn);
    return () => cancelIdleCallback(pending);
  }, [recording]);
}
