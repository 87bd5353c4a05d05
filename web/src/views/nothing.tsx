// nothing.tsx - a message for a run or a thread without allocations, instead of empty charts
import type { JSX } from "preact";
import type { PageDocument } from "../data/document";
import { countedText } from "../text/format";
import type { ViewProps } from "./view";

/** Whether there is nothing but this message to show. */
export function isEmpty({ run, memory }: PageDocument): boolean {
  return (memory === undefined ? run.allocation_calls : run.live_blocks_at_end) === 0;
}

export function Nothing({ recording }: Pick<ViewProps, "recording">): JSX.Element {
  const { run, thread, memory } = recording.document;
  if (memory !== undefined)
    return (
      <section class="panel nothing">
        <h2>Nothing lives</h2>
        <p>No block of this heap was in use, so there is no type, no stack and no size to show.</p>
      </section>
    );
  const failed = run.failed_calls === 0 ? "" : ` ${countedText(run.failed_calls, "call")} requested memory and failed.`;
  return (
    <section class="panel nothing">
      <h2>{thread === undefined ? "This program allocated nothing" : "This thread allocated nothing"}</h2>
      <p>
        No block was allocated during the recording, so there is no curve, no stack and no size to show.
        {failed}
      </p>
    </section>
  );
}
