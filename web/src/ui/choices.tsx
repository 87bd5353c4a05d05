// choices.tsx - a choice of one of a few, side by side
import type { JSX } from "preact";

interface Props<T extends string> {
  readonly label: string; // "": the choices explain themselves
  readonly choices: readonly (readonly [T, string])[];
  readonly chosen: T;
  readonly onChoose: (choice: T) => void;
}

export function Choices<T extends string>({ label, choices, chosen, onChoose }: Props<T>): JSX.Element {
  return (
    <div class="choices" role="group" aria-label={label === "" ? "Show" : label}>
      {label !== "" && <span>{label}</span>}
      <div>
        {choices.map(([choice, name]) => (
          <button key={choice} type="button" aria-pressed={choice === chosen} onClick={() => onChoose(choice)}>
            {name}
          </button>
        ))}
      </div>
    </div>
  );
}
