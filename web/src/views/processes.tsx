// processes.tsx - which of a run's processes the page is of, what each allocated, and how to see another one
import type { JSX } from "preact";
import type { PageDocument, ProcessFields } from "../data/document";
import type { Recording } from "../data/recording";
import { bytesText, countText, shareText, timeText } from "../text/format";

const SHOWN = 12;
const WHOLE_PPM = 1_000_000;

/** A word as a shell reads it back. */
function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** Only what was replayed for this page has a peak. */
export function isHere(process: ProcessFields): boolean {
  return process.peak_bytes !== undefined;
}

function headingOf({ processes, processes_left_out: leftOut = 0 }: PageDocument): string {
  const here = processes.filter(isHere);
  const all = countText(processes.length + leftOut);
  if (here.length !== 1) return `${all} processes, all together on this page`;
  return `Process ${here[0]!.pid} of ${all}: ${shareText(here[0]!.share_ppm, WHOLE_PPM) || "0 %"} of what they allocated`;
}

export function Processes({ recording }: { recording: Recording }): JSX.Element | null {
  const { processes, run, processes_left_out: leftOut = 0 } = recording.document;
  if (processes.length < 2) return null;
  const largest = [...processes].sort((a, b) => b.allocated_bytes - a.allocated_bytes).slice(0, SHOWN);
  const isOne = processes.filter(isHere).length === 1;
  const other = largest.find((process) => !isHere(process)) ?? largest[0]!;
  const trace = shellWord(run.trace.replace(/(\.children)\/[^/]*$/, "$1")); // all of a run are found by its folder
  const left = processes.length + leftOut - largest.length;
  return (
    <>
      <h3 class="later">{headingOf(recording.document)}</h3>
      <ul class="top processes">
        {largest.map((process, i) => (
          <li key={i}>
            <span class="figure">{bytesText(process.allocated_bytes)}</span>
            <span class="figure faint">{timeText(process.to_ns - process.from_ns)}</span>
            <span class="process" title={process.command}>
              <span class="faint">{process.pid}</span> {isOne && isHere(process) && <span class="badge">this page</span>}{" "}
              <code>{process.command}</code>
            </span>
          </li>
        ))}
      </ul>
      {left > 0 && <p class="faint">{countText(left)} more, which allocated less each.</p>}
      <p class="faint">Another process, or all together:</p>
      <pre class="commands">
        {`heapwright report --pid ${other.pid} -o ${other.pid}.html ${trace}\nheapwright report --children -o all.html ${trace}`}
      </pre>
    </>
  );
}
