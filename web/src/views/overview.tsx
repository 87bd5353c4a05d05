// overview.tsx - the figures of the run, its curve, findings, and facts about the recording
import type { ComponentChildren, JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { FindingFields, ImageFields, RunFields } from "../data/document";
import { errorAt } from "../data/errors";
import type { Recording } from "../data/recording";
import { scopesOf } from "../data/scopes";
import type { Span, State, View } from "../state";
import { countText, estimateText, shareText } from "../text/format";
import { timeIn } from "../text/words";
import { Figures } from "./figures";
import { Growth } from "./growth";
import { Heaps } from "./heaps";
import { MemoryCrash, memoryFacts, MemoryFigures, MemoryState } from "./memory";
import { isEmpty, Nothing } from "./nothing";
import { folderOfRun, Processes, togetherCount } from "./processes";
import { RunChart } from "./run_chart";
import { StackList, useLargest } from "./stack_list";
import type { ViewProps } from "./view";

/** The view and the cost that show a finding. */
const SHOWN_IN: Readonly<Record<string, Partial<State> & { view: View }>> = {
  growth: { view: "leaks" },
  real_time: { view: "threads" },
  giant: { view: "sizes" },
  rss_gap: { view: "timeline" },
  slack: { view: "sizes" },
  churn: { view: "flame", cost: "temporary" },
  foreign_frees: { view: "threads" },
  reserve: { view: "flame", cost: "calls" },
  container_growth: { view: "flame", cost: "calls" },
  arena: { view: "lifetimes" },
  inline_buffer: { view: "flame", cost: "calls" },
  warm_up: { view: "scopes" },
  forbidden: { view: "scopes" },
};

/** The row that a view chooses for a finding; -1: its usual one. */
function rowOf({ document }: Recording, finding: FindingFields, view: View): number {
  if (view === "leaks") return finding.row ?? -1;
  return view === "scopes" ? (scopesOf(document)?.rowOf(finding.path ?? []) ?? -1) : -1;
}

function Findings({ recording, state, change }: ViewProps): JSX.Element | null {
  const { findings } = recording.document;
  if (findings.length === 0) return null;
  return (
    <section class="panel">
      <h2>What stands out{state.span !== null && " in the whole run"}</h2>
      <ul class="findings">
        {findings.map((finding, i) => {
          const shown = SHOWN_IN[finding.kind] ?? { view: "flame" as const };
          const row = rowOf(recording, finding, shown.view);
          const zoom = shown.view === "flame" && typeof finding.row === "number" ? recording.tree.nodeOfRow[finding.row]! : 0;
          return (
            <li key={i}>
              <span class="kind">{finding.label}</span>
              <a
                href={`#${shown.view}`}
                onClick={(event) => {
                  event.preventDefault();
                  change({ ...shown, row, zoom });
                }}
              >
                {finding.text}
              </a>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function whenMost(recording: Recording, span: Span | null): string {
  if (span === null) return "at the peak";
  const { edgesNs } = recording;
  return `at ${timeIn(recording, edgesNs[recording.highest(recording.edgesOf(span))]!)}`;
}

/** null: nothing was live. */
function TopStacks({ recording, state, change, heading }: ViewProps & { readonly heading: string }): JSX.Element | null {
  const { span } = state;
  const live = useMemo(() => recording.costs("peak", span), [recording, span]);
  const all = span === null ? recording.document.run.peak_bytes : recording.liveAt(recording.highest(recording.edgesOf(span)));
  const squares = useMemo(() => recording.squares("peak", span), [recording, span]);
  const top = useLargest(recording, live);
  if (top.length === 0) return null;
  return (
    <section class="panel">
      <h2>{heading}</h2>
      <StackList {...{ recording, change }} rows={top} cost="peak" figures={(row) => [estimateText("bytes", live[row]!, errorAt(squares, row)), shareText(live[row]!, all)]} />
    </section>
  );
}

function evidenceOf(run: RunFields): [string, string][] {
  const lost = run.lost_events > 0 ? `${countText(run.lost_events)} lost` : "none lost";
  const differ = run.audit_differences > 0 ? `${countText(run.audit_differences)} differ` : "no differences";
  const lines: [string, string][] = [
    ["Events", `${countText(run.events)}, ${lost}`],
    ["Stacks", `${countText(run.audited_stacks)} compared with a full walk, ${differ}`],
  ];
  if (run.truncated_stacks > 0) lines.push(["Cut stacks", `${countText(run.truncated_stacks)} at the depth limit`]);
  if (run.children_unseen > 0) lines.push(["Not recorded", `${countText(run.children_unseen)} child processes`]);
  if (run.damaged_chunks + run.missing_chunks > 0)
    lines.push(["Damage", `${countText(run.damaged_chunks + run.missing_chunks)} parts of the trace could not be read`]);
  return lines;
}

function exitText(process: ImageFields): string {
  if (process.being_written) return "still running";
  if (process.out_of_memory) return "killed because memory ran out";
  if ((process.exit_signal ?? 0) > 0) return `ended by signal ${process.exit_signal}`;
  return typeof process.exit_code === "number" ? `exit status ${process.exit_code}` : "";
}

/** Facts that are known only for a single process. */
function ofProcess(recording: Recording): [string, string][] {
  const { process } = recording.document;
  const begin = process.from_ns ?? 0;
  const lines: [string, string][] = [];
  for (const { from_ns, to_ns, why } of process.silences ?? []) {
    const from = timeIn(recording, begin + from_ns);
    const interval = to_ns === undefined ? `from ${from} on` : `${from} – ${timeIn(recording, begin + to_ns)}`;
    lines.push(["Gap", `${interval}: ${why}`]);
  }
  if (exitText(process) !== "") lines.push(["Ended", exitText(process)]);
  if (process.executable) lines.push(["Program", process.executable]);
  if (process.directory) lines.push(["Directory", process.directory]);
  return lines;
}

function dateText(realtimeNs: number): string {
  return new Date(realtimeNs / 1e6).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "medium" });
}

function factsOf(recording: Recording): [string, string][] {
  const { run, process, version } = recording.document;
  const began = process.start_realtime_ns ?? 0;
  const together = togetherCount(recording.document) > 1; // facts about the largest process are not valid for all
  const lines = evidenceOf(run);
  if (began > 0) lines.push(["Started", dateText(began - (together ? (process.from_ns ?? 0) : 0))]);
  const { dropped_until_ns: kept, peak_of_kept_events: isPeakOfKept = false } = run;
  if (kept > 0) {
    const peak = isPeakOfKept ? "; the peak of all processes together is that of the kept events" : "";
    lines.push(["Kept", `events from ${timeIn(recording, kept)} on; of before: what still lives, and totals${peak}`]);
  }
  if (!together) lines.push(...ofProcess(recording));
  lines.push(["Trace", together ? folderOfRun(run) : run.trace], ["Written by", `heapwright ${version}`]);
  return lines;
}

function About({ what, facts, children }: { what: string; facts: readonly [string, string][]; children?: ComponentChildren }): JSX.Element {
  return (
    <section class="panel">
      <h2>About this {what}</h2>
      <dl class="evidence">
        {facts.map(([name, text]) => (
          <>
            <dt>{name}</dt>
            <dd>{text}</dd>
          </>
        ))}
      </dl>
      {children}
    </section>
  );
}

/** The overview of a heap that was not recorded. */
function MemoryOverview(props: ViewProps): JSX.Element {
  const { document } = props.recording;
  return (
    <div class="stack-v">
      <MemoryCrash document={document} />
      <MemoryFigures document={document} />
      {isEmpty(document) && <Nothing {...props} />}
      <div class="columns">
        <div class="stack-v">
          {!isEmpty(document) && <TopStacks {...props} heading="What lives" />}
          <MemoryState document={document} />
        </div>
        <About what="heap" facts={memoryFacts(document)} />
      </div>
    </div>
  );
}

export function Overview(props: ViewProps): JSX.Element {
  const { recording, state, opened, isLive, change } = props;
  const { document } = recording;
  if (document.memory !== undefined) return <MemoryOverview {...props} />;
  const hasBlocks = !isEmpty(document);
  return (
    <div class="stack-v">
      {hasBlocks && <Growth {...props} />}
      <Figures recording={recording} span={state.span} />
      {hasBlocks ? <RunChart {...props} /> : <Nothing {...props} />}
      <div class="columns">
        <div class="stack-v">
          <Findings {...props} />
          {hasBlocks && <TopStacks {...props} heading={`Largest stacks ${whenMost(recording, state.span)}`} />}
          <Heaps recording={recording} />
        </div>
        <About what="recording" facts={factsOf(recording)}>
          <Processes {...{ document, opened, isLive, change }} />
        </About>
      </div>
    </div>
  );
}
