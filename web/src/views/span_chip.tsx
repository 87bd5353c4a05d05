// span_chip.tsx - shows the chosen interval or moment, with a button for the whole run
import type { JSX } from "preact";
import type { Recording } from "../data/recording";
import { spanValues, type Span } from "../state";
import { spanText } from "../text/words";
import { Chip } from "../ui/chip";

interface Props {
  readonly recording: Recording;
  readonly span: Span | null;
  readonly onWhole: () => void;
}

export function SpanChip({ recording, span, onWhole }: Props): JSX.Element | null {
  if (span === null) return null;
  return (
    <Chip title="Every view shows this time" name="The whole run (x)" onEnd={onWhole}>
      <span data-span={new URLSearchParams(spanValues(span)).toString()}>{spanText(recording, span)}</span>
    </Chip>
  );
}
