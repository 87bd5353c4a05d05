// nothing.tsx - a message for a run or a thread without allocations, instead of empty charts
import type { JSX } from "preact";
import { countedText } from "../text/format";
import type { ViewProps } from "./view";

export function Nothing({ recording }: Pick<ViewProps, "recording">): JSX.Element {
  const { run, thread } = recording.document;
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
