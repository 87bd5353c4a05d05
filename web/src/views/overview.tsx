// overview.tsx - the figures of the run, its curve, what stands out, and what the recording is worth
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { ImageFields, RunFields } from "../data/document";
import type { Recording } from "../data/recording";
import { wordsAmong } from "../data/stack_words";
import type { Span, State, View } from "../state";
import { blocksText, byteRateText, bytesText, countText, rateText, shareText } from "../text/format";
import { timeIn } from "../text/words";
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

function blocksFigure(blocks: number, bytes: number): Figure {
  return {
    name: "Blocks then",
    value: countText(blocks),
    note: blocks === 0 ? "none" : `${bytesText(bytes / blocks)} on average`,
  };
}

function rssFigure(rssBytes: number, peakBytes: number): Figure {
  const isKnown = rssBytes > 0;
  return {
    name: "RSS at most",
    value: isKnown ? bytesText(rssBytes) : "–",
    note: isKnown ? heapOfRss(peakBytes, rssBytes) : "not sampled",
  };
}

/** What was called, within some time. */
interface Calls {
  readonly allocations: number;
  readonly bytes: number;
  readonly temporary: number;
  readonly frees: number;
  /** null: it is not known, and the frees are those of blocks of the thread, whoever made them */
  readonly failed: number | null;
  readonly lengthNs: number;
}

function failedText(failed: number | null): string {
  if (failed === null) return "of its blocks, by any thread";
  if (failed === 0) return "no failed calls";
  return failed === 1 ? "1 failed call" : `${countText(failed)} failed calls`;
}

function callFigures({ allocations, bytes, temporary, frees, failed, lengthNs }: Calls): Figure[] {
  return [
    { name: "Allocations", value: countText(allocations), note: rateText(allocations, lengthNs) },
    { name: "Allocated", value: bytesText(bytes), note: byteRateText(bytes, lengthNs) },
    { name: "Temporary", value: countText(temporary), note: `${shareText(temporary, allocations) || "none"} of calls` },
    { name: "Frees", value: countText(frees), note: failedText(failed) },
  ];
}

/** Within an interval, or until a moment. */
function figuresWithin(recording: Recording, span: Span): Figure[] {
  const { document, edgesNs } = recording;
  const { slices } = document;
  const { from, to } = recording.edgesOf(span);
  const isMoment = from === to;
  const first = isMoment ? 0 : from;
  const within = (column: readonly (number | null)[]): number[] => column.slice(first, to).map((value) => value ?? 0);
  const sum = (column: readonly number[]): number => within(column).reduce((all, part) => all + part, 0);
  const most = (column: readonly (number | null)[]): number => Math.max(recording.liveAt(first), ...within(column));
  const blocksAt = (edge: number): number => (edge === 0 ? 0 : slices.live_blocks[edge - 1]!);
  const [peak, start, end] = [most(slices.max_bytes), recording.liveAt(first), recording.liveAt(to)];
  const states: Figure[] = isMoment
    ? [
        { name: "Live then", value: bytesText(end), note: `${shareText(end, document.run.peak_bytes) || "none"} of the peak` },
        blocksFigure(blocksAt(to), end),
        { name: "Peak until then", value: bytesText(peak), note: "the most so far" },
      ]
    : [
        { name: "Peak", value: bytesText(peak), note: "the most within" },
        { name: "At the start", value: bytesText(start), note: blocksText(blocksAt(first)) },
        { name: "At the end", value: bytesText(end), note: blocksText(blocksAt(to)) },
      ];
  const calls: Calls = {
    allocations: sum(slices.allocation_calls),
    bytes: sum(slices.allocated_bytes),
    temporary: sum(slices.temporary_calls),
    frees: sum(slices.free_calls),
    failed: document.thread === undefined ? sum(slices.failed_calls) : null,
    lengthNs: edgesNs[to]! - edgesNs[first]!,
  };
  return [...states, ...callFigures(calls), rssFigure(Math.max(0, ...within(slices.rss_max_bytes)), peak)];
}

function figuresOf(recording: Recording, span: Span | null): Figure[] {
  if (span !== null) return figuresWithin(recording, span);
  const { run, process } = recording.document;
  return [
    {
      name: "Peak",
      value: bytesText(run.peak_bytes),
      note: run.peak_bytes === 0 ? "nothing was live" : `at ${timeIn(recording, run.peak_time_ns)}`,
    },
    blocksFigure(run.peak_blocks, run.peak_bytes),
    { name: "At the end", value: bytesText(run.live_bytes_at_end), note: `${blocksText(run.live_blocks_at_end)} left` },
    ...callFigures({
      allocations: run.allocation_calls,
      bytes: run.allocated_bytes,
      temporary: run.temporary_calls,
      frees: run.free_calls,
      failed: run.failed_calls,
      lengthNs: run.duration_ns,
    }),
    rssFigure(process.rss_peak_bytes ?? 0, run.peak_bytes),
  ];
}

function Figures({ recording, span }: { recording: Recording; span: Span | null }): JSX.Element {
  return (
    <dl class="figures">
      {figuresOf(recording, span).map(({ name, value, note }) => (
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

function Findings({ recording, state, change }: ViewProps): JSX.Element | null {
  const { findings } = recording.document;
  if (findings.length === 0) return null;
  return (
    <section class="panel">
      <h2>What stands out{state.span !== null && " in the whole run"}</h2>
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

/** The rows with most, the largest first, of those that are wanted. */
function largest(amounts: Float64Array, count: number, isWanted: (row: number) => boolean): number[] {
  const top: number[] = [];
  amounts.forEach((amount, row) => {
    if (amount <= (top.length < count ? 0 : amounts[top.at(-1)!]!) || !isWanted(row)) return;
    const at = top.findIndex((other) => amounts[other]! < amount);
    top.splice(at < 0 ? top.length : at, 0, row);
    top.length = Math.min(top.length, count);
  });
  return top;
}

function whenMost(recording: Recording, span: Span | null): string {
  if (span === null) return "at the peak";
  const { edgesNs } = recording;
  return `at ${timeIn(recording, edgesNs[recording.highest(recording.edgesOf(span))]!)}`;
}

function TopStacks({ recording, state, change }: ViewProps): JSX.Element {
  const { span } = state;
  const live = useMemo(() => recording.costs("peak", span), [recording, span]);
  const all = span === null ? recording.document.run.peak_bytes : recording.liveAt(recording.highest(recording.edgesOf(span)));
  const top = useMemo(() => largest(live, TOP_STACKS, (row) => recording.cutStacks(row) === 0), [recording, live]);
  const words = useMemo(() => wordsAmong(recording, top), [recording, top]);
  return (
    <section class="panel">
      <h2>Most {whenMost(recording, span)}</h2>
      <ul class="top">
        {top.map((row) => {
          const bytes = live[row]!;
          return (
            <li key={row}>
              <span class="figure">{bytesText(bytes)}</span>
              <span class="figure faint">{shareText(bytes, all)}</span>
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
  const { recording, state } = props;
  const isEmpty = recording.document.run.allocation_calls === 0;
  return (
    <div class="stack-v">
      <Figures recording={recording} span={state.span} />
      {isEmpty ? <Nothing {...props} /> : <RunChart {...props} />}
      <div class="columns">
        <div class="stack-v">
          <Findings {...props} />
          {!isEmpty && <TopStacks {...props} />}
        </div>
        <Evidence {...props} />
      </div>
    </div>
  );
}
