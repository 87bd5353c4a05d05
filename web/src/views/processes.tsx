// processes.tsx - the processes of the run: which one is shown, what each allocated, and how to see another one
import type { JSX } from "preact";
import type { PageDocument, ProcessFields, RunFields } from "../data/document";
import { bytesText, countText, shareText, timeText } from "../text/format";
import type { Change } from "../ui/location";

const SHOWN = 12;
const WHOLE_PPM = 1_000_000;

/** A word, quoted for a shell. */
function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** Only processes that were replayed for this document have a peak. */
function isHere(process: ProcessFields): boolean {
  return process.peak_bytes !== undefined;
}

/** The number of processes in a document. If there are several, those that its list leaves out count, too. */
export function togetherCount({ processes, processes_left_out: leftOut = 0 }: PageDocument): number {
  const here = processes.filter(isHere).length;
  return here > 1 ? here + leftOut : here;
}

/** The command that started the run or process of a document. */
export function commandOf({ run, process }: PageDocument): string {
  return process.run_command ?? run.command;
}

/** The folder of a run, by which all its processes are found. */
export function folderOfRun({ trace }: RunFields): string {
  return trace.replace(/(\.children)\/[^/]*$/, "$1");
}

/** A document of one process may list only this one; the document that the page opens with lists all. */
function headingOf(document: PageDocument, { processes, processes_left_out: leftOut = 0 }: PageDocument): string {
  const here = document.processes.filter(isHere);
  const all = countText(processes.length + leftOut);
  if (here.length !== 1) return `${all} processes together`;
  return `Process ${here[0]!.pid} of ${all}: ${shareText(here[0]!.share_ppm, WHOLE_PPM) || "0 %"} of what they allocated`;
}

interface Props {
  /** the document that is shown */
  readonly document: PageDocument;
  /** the document that the page opens with, which contains the others */
  readonly opened: PageDocument;
  /** whether the server of a running program has a document of each process */
  readonly isLive: boolean;
  readonly change: Change;
}

/** By process ID: the value of `process` in the state, for processes that the page contains. */
function heldBy({ run, processes, others = [] }: PageDocument): ReadonlyMap<number, number> {
  const held = new Map(others.map((other) => [other.run.pid, other.run.pid]));
  if (processes.filter(isHere).length === 1) held.set(run.pid, 0);
  return held;
}

export function Processes({ document, opened, isLive, change }: Props): JSX.Element | null {
  const { run } = document;
  const { processes, processes_left_out: leftOut = 0 } = opened;
  if (processes.length < 2) return null;
  const largest = [...processes].sort((a, b) => b.allocated_bytes - a.allocated_bytes).slice(0, SHOWN);
  const here = document.processes.filter(isHere);
  const isShown = ({ pid, from_ns }: ProcessFields): boolean =>
    here.length === 1 && here[0]!.pid === pid && here[0]!.from_ns === from_ns;
  const held = heldBy(opened);
  const other = largest.find((process) => !held.has(process.pid));
  const trace = shellWord(folderOfRun(run));
  const commands = [
    ...(other === undefined ? [] : [`heapwright report --pid ${other.pid} -o ${other.pid}.html ${trace}`]),
    `heapwright report --children -o all.html ${trace}`,
  ];
  const left = processes.length + leftOut - largest.length;
  const linkTo = (process: ProcessFields, to: number): JSX.Element => (
    <a
      class="plain-link"
      href={`#overview?process=${to}`}
      onClick={(event) => {
        event.preventDefault();
        change({ process: to });
      }}
    >
      <code>{process.command}</code>
    </a>
  );
  return (
    <>
      <h3 class="later">{headingOf(document, opened)}</h3>
      <ul class="top processes">
        {largest.map((process, i) => {
          const to = isLive ? process.pid : held.get(process.pid);
          return (
            <li key={i}>
              <span class="figure">{bytesText(process.allocated_bytes)}</span>
              <span class="figure faint">{timeText(process.to_ns - process.from_ns)}</span>
              <span class="process" title={process.command}>
                <span class="faint">{process.pid}</span> {isShown(process) && <span class="badge">shown</span>}{" "}
                {to === undefined ? <code>{process.command}</code> : linkTo(process, to)}
              </span>
            </li>
          );
        })}
      </ul>
      {left > 0 && <p class="faint">{countText(left)} more, none of which allocated more.</p>}
      {!isLive && (
        <>
          <p class="faint">{other === undefined ? "All processes together:" : "Another process, or all processes together:"}</p>
          <pre class="commands">{commands.join("\n")}</pre>
        </>
      )}
    </>
  );
}
