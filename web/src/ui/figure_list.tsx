// figure_list.tsx - figures side by side, each with its name above and a note below, in columns that cut none of them
import type { JSX } from "preact";

export interface Figure {
  readonly name: string;
  readonly value: string;
  readonly note: string;
}

// As .figures in style.css has them.
const [LIST_FONT_PX, VALUE_FONT_PX, NOTE_FONT_PX] = [13, 20, 12];
const PADDING_PX = 32;

/** The room that the longest of the texts needs, by their characters: those of a figure are no wider than a digit on average. */
function leastWidth(figures: readonly Figure[]): string {
  const charPx = ({ name, value, note }: Figure): number =>
    Math.max(value.length * VALUE_FONT_PX, Math.max(name.length, note.length) * NOTE_FONT_PX);
  const digits = Math.max(...figures.map(charPx)) / LIST_FONT_PX;
  return `calc(${digits.toFixed(1)}ch + ${PADDING_PX}px)`;
}

export function FigureList({ figures }: { figures: readonly Figure[] }): JSX.Element {
  return (
    <dl class="figures" style={{ "--least": leastWidth(figures) }}>
      {figures.map(({ name, value, note }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd data-figure={name}>
            {value}
            <small>{note}</small>
          </dd>
        </div>
      ))}
    </dl>
  );
}
