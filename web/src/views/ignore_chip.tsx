// ignore_chip.tsx - shows the pattern of ignored stacks, with a button that removes it
import type { JSX } from "preact";
import type { State } from "../state";
import { Chip } from "../ui/chip";
import type { Change } from "../ui/location";

const WHAT =
  "Left out of stacks, flame graphs, leaks, lifetimes and slow calls. The figures of the run, its sizes and threads include everything.";

export function IgnoreChip({ state, change }: { state: State; change: Change }): JSX.Element | null {
  if (state.ignore === "") return null;
  return (
    <Chip title={WHAT} name="Ignore nothing" onEnd={() => change({ ignore: "" })}>
      without {state.ignore}
    </Chip>
  );
}
