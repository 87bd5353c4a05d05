// picker.tsx - a choice of one of many, from a drop-down list
import type { JSX } from "preact";

interface Props {
  readonly label: string;
  readonly title: string;
  /** IDs and names */
  readonly choices: readonly (readonly [number, string])[];
  readonly chosen: number;
  /** the choice that is no restriction; absent: the first one */
  readonly usual?: number;
  readonly onChoose: (choice: number) => void;
}

export function Picker({ label, title, choices, chosen, usual = choices[0]?.[0], onChoose }: Props): JSX.Element {
  return (
    <label class={chosen === usual ? "picker" : "picker narrowed"} title={title}>
      <span>{label}</span>
      <select aria-label={label} value={String(chosen)} onChange={(event) => onChoose(Number(event.currentTarget.value))}>
        {choices.map(([choice, name]) => (
          <option key={choice} value={String(choice)} selected={choice === chosen}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The choice `step` places after the chosen one, cyclically. */
export function nextChoice(choices: readonly (readonly [number, string])[], chosen: number, step: number): number {
  const at = choices.findIndex(([choice]) => choice === chosen);
  return choices[(Math.max(0, at) + step + choices.length) % Math.max(1, choices.length)]?.[0] ?? chosen;
}
