// figure_list.tsx - figures side by side, each with its name above and a note below, in columns that cut none of them
import type { JSX } from "preact";

export interface Figure {
  readonly name: string;
  readonly value: string;
  /** "± 3.2" for an estimate */
  readonly error?: string;
  readonly note: string;
}

// The same as .figures in style.css.
const [LIST_FONT_PX, VALUE_FONT_PX, NOTE_FONT_PX] = [13, 20, 12];
const PADDING_PX = 32;

/** The width of the longest text, from its number of characters, which are on average not wider than a digit. */
function leastWidth(figures: readonly Figure[]): string {
  const charPx = ({ name, value, error = "", note }: Figure): number =>
    Math.max(value.length * VALUE_FONT_PX + (error.length + 1) * NOTE_FONT_PX * Number(error !== ""), Math.max(name.length, note.length) * NOTE_FONT_PX);
  const digits = Math.max(...figures.map(charPx)) / LIST_FONT_PX;
  return `calc(${digits.toFixed(1)}ch + ${PADDING_PX}px)`;
}

export function FigureList({ figures }: { figures: readonly Figure[] }): JSX.Element {
  return (
    <dl class="figures" style={{ "--least": leastWidth(figures) }}>
      {figures.map(({ name, value, error = "", note }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd data-figure={name}>
            {value}
            {error !== "" && <span class="error"> {error}</span>}
            <small>{note}</small>
          </dd>
        </div>
      ))}
    </dl>
  );
}
