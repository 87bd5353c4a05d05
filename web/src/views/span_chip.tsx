// span_chip.tsx - shows the chosen interval or moment, and the instance whose time it is, with a button for the whole run
import type { JSX } from "preact";
import type { Recording } from "../data/recording";
import { spanValues, type Span } from "../state";
import { timeText } from "../text/format";
import { spanText, timeIn } from "../text/words";
import { Chip } from "../ui/chip";

interface Props {
  readonly recording: Recording;
  readonly span: Span | null;
  /** whether it ends when the run does */
  readonly isMoving?: boolean;
  /** the instance whose time it is; absent or "": none */
  readonly instance?: string;
  readonly onWhole: () => void;
}

export function SpanChip({ recording, span, isMoving = false, instance = "", onWhole }: Props): JSX.Element | null {
  if (span === null) return null;
  const title = instance === "" ? "Every view shows this time" : "Every view shows the slices of time that this instance is in";
  return (
    <Chip title={title} name="The whole run (x)" onEnd={onWhole}>
      <span data-span={new URLSearchParams(spanValues(span)).toString()}>
        {instance === "" ? "" : `${instance}: `}
        {isMoving ? `since ${timeIn(recording, span.fromNs)}, for ${timeText(span.toNs - span.fromNs)}` : spanText(recording, span)}
      </span>
    </Chip>
  );
}
