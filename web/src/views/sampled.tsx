// sampled.tsx - the badge of a recording whose figures are estimates
import type { JSX } from "preact";
import type { RunFields } from "../data/document";
import { sampleText } from "../text/format";

/** null: the recording is exact. */
export function Sampled({ run }: { run: RunFields }): JSX.Element | null {
  if (run.sample_bytes === undefined) return null;
  return (
    <span class="sampled" title={`One allocation per ${sampleText(run.sample_bytes)} is recorded: figures are estimates, with ± their error (95 %)`}>
      sampled
    </span>
  );
}
