// overview.tsx - the figures of the run, its curve, what stands out, and what the recording is worth
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { ImageFields, RunFields } from "../data/document";
import type { Recording } from "../data/recording";
import { wordsAmong } from "../data/stack_words";
import type { State, View } from "../state";
import { blocksText, byteRateText, bytesText, countText, rateText, shareText } from "../text/format";
import { timeIn } from "../text/words";
import type { Change } from "../ui/location";
import { Nothing } from "./nothing";
import { folderOfRun, Processes, togetherCount } from "./processes";
import { RunChart } from "./run_chart";
import { StackText } from "./stack";
import type { ViewProps } from "./view";

const TOP_STACKS = 8;

interface Figure {
  readonly name: string;
  readonly value: string;
  readonly note: string;
}

function heapOfRss(peakBytes: number, rssBytes: number): string {
  return peakBytes === 0 ? "no block was live" : `heap: ${shareText(peakBytes, rssBytes)} of it`;
}

function figuresOf(recording: Recording): Figure[] {
  const { run, process } = recording.document;
  const rss = process.rss_peak_bytes ?? 0;
  return [
    {
      name: "Peak",
      value: bytesText(run.peak_bytes),
      note: run.peak_bytes === 0 ? "nothing was live" : `at ${timeIn(recording, run.peak_time_ns)}`,
    },
    {
      name: "Blocks then",
      value: countText(run.peak_blocks),
      note: run.peak_blocks === 0 ? "none" : `${bytesText(run.peak_bytes / run.peak_blocks)} on average`,
    },
    { name: "At the end", value: bytesText(run.live_bytes_at_end), note: `${blocksText(run.live_blocks_at_end)} left` },
    { name: "Allocations", value: countText(run.allocation_calls), note: rateText(run.allocation_calls, run.duration_ns) },
    { name: "Allocated", value: bytesText(run.allocated_bytes), note: byteRateText(run.allocated_bytes, run.duration_ns) },
    {
      name: "Temporary",
      value: countText(run.temporary_calls),
      note: `${shareText(run.temporary_calls, run.allocation_calls) || "none"} of calls`,
    },
    {
      name: "Frees",
      value: countText(run.free_calls),
      note: run.failed_calls > 0 ? `${countText(run.failed_calls)} failed calls` : "no failed calls",
    },
    { name: "RSS at most", value: rss > 0 ? bytesText(rss) : "–", note: rss > 0 ? heapOfRss(run.peak_bytes, rss) : "not sampled" },
  ];
}

function Figures({ recording }: { recording: Recording }): JSX.Element {
  return (
    <dl class="figures">
      {figuresOf(recording).map(({ name, value, note }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd data-figure={name}>
            {value}
            <small title={note}>{note}</small>
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** Where a finding is seen, and with which cost. */
const SHOWN_IN: Readonly<Record<string, Partial<State> & { view: View }>> = {
  growth: { view: "leaks" },
  real_time: { view: "threads" },
  giant: { view: "sizes" },
  rss_gap: { view: "timeline" },
  slack: { view: "sizes" },
  churn: { view: "flame", cost: "temporary" },
  foreign_frees: { view: "threads" },
  reserve: { view: "flame", cost: "calls" },
  container: { view: "flame", cost: "calls" },
  arena: { view: "lifetimes" },
  inline_buffer: { view: "flame", cost: "calls" },
};

function Findings({ recording, change }: { recording: Recording; change: Change }): JSX.Element | null {
  const { findings } = recording.document;
  if (findings.length === 0) return null;
  return (
    <section class="panel">
      <h2>What stands out</h2>
      <ul class="findings">
        {findings.map((finding, i) => {
          const shown = SHOWN_IN[finding.kind] ?? { view: "flame" as const };
          const row = shown.view === "leaks" ? (finding.row ?? -1) : -1;
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

function TopStacks({ recording, change }: { recording: Recording; change: Change }): JSX.Element {
  const { run } = recording.document;
  const top = useMemo(() => {
    const peaks = recording.column("peak_bytes");
    const rows = Array.from(peaks.keys()).sort((a, b) => peaks[b]! - peaks[a]!);
    return rows.filter((row) => peaks[row]! > 0 && recording.cutStacks(row) === 0).slice(0, TOP_STACKS);
  }, [recording]);
  const words = useMemo(() => wordsAmong(recording, top), [recording, top]);
  return (
    <section class="panel">
      <h2>Most at the peak</h2>
      <ul class="top">
        {top.map((row) => {
          const bytes = recording.column("peak_bytes")[row]!;
          return (
            <li key={row}>
              <span class="figure">{bytesText(bytes)}</span>
              <span class="figure faint">{shareText(bytes, run.peak_bytes)}</span>
              <a
                class="plain-link code"
                href="#flame"
                onClick={(event) => {
                  event.preventDefault();
                  change({ view: "flame", cost: "peak", zoom: recording.tree.nodeOfRow[row]! });
                }}
              >
                <StackText line={words.line(row)} />
              </a>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function evidenceOf(run: RunFields): [string, string][] {
  const lost = run.lost_events > 0 ? `${countText(run.lost_events)} lost` : "none lost";
  const differ = run.audit_differences > 0 ? `${countText(run.audit_differences)} differ` : "none differs";
  const lines: [string, string][] = [
    ["Events", `${countText(run.events)}, ${lost}`],
    ["Stacks", `${countText(run.audited_stacks)} compared with a full walk, ${differ}`],
  ];
  if (run.truncated_stacks > 0) lines.push(["Cut stacks", `${countText(run.truncated_stacks)} at the depth limit`]);
  if (run.children_unseen > 0) lines.push(["Not seen", `${countText(run.children_unseen)} child processes without the recorder`]);
  if (run.damaged_chunks + run.missing_chunks > 0)
    lines.push(["Damage", `${countText(run.damaged_chunks + run.missing_chunks)} parts of the trace could not be read`]);
  return lines;
}

function exitText(process: ImageFields): string {
  if (process.being_written) return "still running";
  if ((process.exit_signal ?? 0) > 0) return `ended by signal ${process.exit_signal}`;
  return typeof process.exit_code === "number" ? `exit status ${process.exit_code}` : "";
}

/** What is known of a process alone. */
function ofProcess(recording: Recording): [string, string][] {
  const { process } = recording.document;
  const begin = process.from_ns ?? 0;
  const lines: [string, string][] = [];
  for (const { from_ns, to_ns, why } of process.silences ?? [])
    lines.push(["Silent", `${timeIn(recording, begin + from_ns)} – ${timeIn(recording, begin + to_ns)}: ${why}`]);
  if (exitText(process) !== "") lines.push(["Ended", exitText(process)]);
  if (process.executable) lines.push(["Program", process.executable]);
  if (process.directory) lines.push(["Directory", process.directory]);
  return lines;
}

function dateText(realtimeNs: number): string {
  return new Date(realtimeNs / 1e6).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "medium" });
}

function Evidence({ recording, opened, change }: ViewProps): JSX.Element {
  const { run, process, version } = recording.document;
  const began = process.start_realtime_ns ?? 0;
  const together = togetherCount(recording.document) > 1; // what is known of the largest one alone is not said of all
  const lines = evidenceOf(run);
  if (began > 0) lines.push(["Begun", dateText(began - (together ? (process.from_ns ?? 0) : 0))]);
  if (!together) lines.push(...ofProcess(recording));
  lines.push(["Trace", together ? folderOfRun(run) : run.trace], ["Written by", `heapwright ${version}`]);
  return (
    <section class="panel">
      <h2>The recording</h2>
      <dl class="evidence">
        {lines.map(([name, text]) => (
          <>
            <dt>{name}</dt>
            <dd>{text}</dd>
          </>
        ))}
      </dl>
      <Processes {...{ document: recording.document, opened, change }} />
    </section>
  );
}

export function Overview(props: ViewProps): JSX.Element {
  const { recording, change } = props;
  const isEmpty = recording.document.run.allocation_calls === 0;
  return (
    <div class="stack-v">
      <Figures recording={recording} />
      {isEmpty ? <Nothing {...props} /> : <RunChart {...props} />}
      <div class="columns">
        <div class="stack-v">
          <Findings recording={recording} change={change} />
          {!isEmpty && <TopStacks recording={recording} change={change} />}
        </div>
        <Evidence {...props} />
      </div>
    </div>
  );
}
