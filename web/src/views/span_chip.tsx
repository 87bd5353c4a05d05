// span_chip.tsx - the interval or moment that everything shows, with a button for the whole run
import type { JSX } from "preact";
import type { Recording } from "../data/recording";
import type { Span } from "../state";
import { spanText } from "../text/words";

export function SpanChip({ recording, span, onWhole }: { recording: Recording; span: Span | null; onWhole: () => void }): JSX.Element | null {
  if (span === null) return null;
  return (
    <span class="span-chip" data-span>
      {spanText(recording, span)}
      <button type="button" onClick={onWhole} title="The whole run (x)" aria-label="The whole run">
        ✕
      </button>
    </span>
  );
}
