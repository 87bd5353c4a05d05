// span_chip.tsx - shows the chosen interval or moment, and the instance whose time it is, with a button for the whole run
import type { JSX } from "preact";
import type { Recording } from "../data/recording";
import { spanValues, type Span } from "../state";
import { spanText } from "../text/words";
import { Chip } from "../ui/chip";

interface Props {
  readonly recording: Recording;
  readonly span: Span | null;
  /** the instance whose time it is; absent or "": none */
  readonly instance?: string;
  readonly onWhole: () => void;
}

export function SpanChip({ recording, span, instance = "", onWhole }: Props): JSX.Element | null {
  if (span === null) return null;
  const title = instance === "" ? "Every view shows this time" : "Every view shows the slices of time that this instance is in";
  return (
    <Chip title={title} name="The whole run (x)" onEnd={onWhole}>
      <span data-span={new URLSearchParams(spanValues(span)).toString()}>
        {instance === "" ? "" : `${instance}: `}
        {spanText(recording, span)}
      </span>
    </Chip>
  );
}
