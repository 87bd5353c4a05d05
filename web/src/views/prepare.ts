// prepare.ts - makes what views are drawn from while nobody waits for it, a piece at a time
import { useEffect } from "preact/hooks";
import type { Recording } from "../data/recording";
import { namesOf } from "./node_names";

const PIECES: readonly ((recording: Recording) => unknown)[] = [
  (recording) => recording.series,
  (recording) => recording.lifetimes(),
  (recording) => recording.column("live_bytes"),
  (recording) => recording.column("runtime_live_bytes"),
  (recording) => recording.column("live_blocks"),
  (recording) => recording.column("runtime_live_blocks"),
  (recording) => recording.column("calls"),
  (recording) => recording.cutStacks(0),
  (recording) => namesOf(recording),
];

export function usePrepared(recording: Recording): void {
  useEffect(() => {
    let [at, pending] = [0, 0];
    const goOn = (): void => {
      PIECES[at++]?.(recording);
      if (at < PIECES.length) pending = requestIdleCallback(goOn);
    };
    pending = requestIdleCallback(goOn);
    return () => cancelIdleCallback(pending);
  }, [recording]);
}
