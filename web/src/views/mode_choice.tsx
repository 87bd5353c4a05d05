// mode_choice.tsx - the whole tree, or one function in the middle
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
