// chip.tsx - a label for an active filter, with a button that removes it
import type { ComponentChildren, JSX } from "preact";

interface Props {
  readonly title: string;
  /** of the button */
  readonly name: string;
  readonly onEnd: () => void;
  readonly children: ComponentChildren;
}

export function Chip({ title, name, onEnd, children }: Props): JSX.Element {
  return (
    <span class="chip" title={title}>
      <span class="chip-text">{children}</span>
      <button type="button" onClick={onEnd} title={name} aria-label={name}>
        ✕
      </button>
    </span>
  );
}
