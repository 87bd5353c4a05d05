// mode_choice.tsx - the choice between the whole tree and one function with callers and callees
import type { JSX } from "preact";
import { FLAME_MODES, type State } from "../state";
import { Choices } from "../ui/choices";
import type { Change } from "../ui/location";

export function ModeChoice({ state, change }: { state: State; change: Change }): JSX.Element {
  return (
    <Choices
      label=""
      choices={FLAME_MODES.map((choice) => [choice, choice === "icicle" ? "Icicle" : "Sandwich"])}
      chosen={state.mode}
      onChoose={(chosen) => change({ mode: chosen, sort: "" })}
    />
  );
}
