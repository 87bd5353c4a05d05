// live_bar.tsx - what the viewer of a running program can do: pause, count from now on, mark, save
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { INTERVALS, USUAL_MS, type LiveDocuments } from "../data/live";
import type { PageDocument } from "../data/document";
import { NOW, type Span } from "../state";
import { timeText } from "../text/format";
import { momentIn } from "../text/words";
import { Picker } from "../ui/picker";

const SAID_MS = 20_000;
const RUN = 0;
const OTHER = 1;
const LASTS_NS = [5e9, 10e9, 30e9, 60e9, 300e9, 900e9, 3600e9] as const;

const LAGS_MS = 1500;

function stateName({ state, trouble, behindMs, process }: LiveDocuments): string {
  const running = behindMs < LAGS_MS ? "live" : `live, ${Math.round(behindMs / 1000)} s behind`;
  const over = process === 0 ? "the program has ended" : "this process has ended";
  return state === "running" ? running : state === "over" ? over : trouble;
}

function intervalName(ms: number): string {
  return ms < 1000 ? `${ms} ms` : `${ms / 1000} s`;
}

function lastName(ns: number): string {
  return ns < 60e9 ? `the last ${ns / 1e9} s` : ns === 60e9 ? "the last minute" : `the last ${ns / 60e9} min`;
}

/** The name of a span that the list does not have; null: it has it. */
function otherName(span: Span | null): string | null {
  if (span === null || (span.toNs === NOW && span.fromNs < 0)) return null;
  return span.toNs === NOW ? `since ${momentIn(span.fromNs)}` : "an interval";
}

/** Whether recording is switched off at present. */
function isOff({ process }: PageDocument): boolean {
  return process.being_written === true && (process.silences ?? []).some(({ to_ns }) => to_ns === undefined);
}

const RESET = "heapwright: reset"; // a mark of hw_live_reset

/** When the program last said that figures count from now on; -1: never. */
function lastReset({ marks = [] }: PageDocument): number {
  return Math.max(-1, ...marks.filter(({ text }) => text === RESET).map(({ time_ns }) => time_ns));
}

interface Props {
  readonly live: LiveDocuments;
  readonly content: PageDocument;
  readonly span: Span | null;
  readonly onSpan: (span: Span | null) => void;
  readonly onChange: () => void;
}

/** Follows the program when it resets the figures; at first, unless another time was chosen. */
function useResets({ live, content, span, onSpan }: Props): void {
  const key = `${live.runs} ${live.process}`; // times of another run or process begin at another moment
  const seen = useRef({ key, fromNs: span === null ? -1 : lastReset(content) });
  useEffect(() => {
    const fromNs = lastReset(content);
    const isNew = fromNs > (seen.current.key === key ? seen.current.fromNs : -1);
    seen.current = { key, fromNs };
    if (isNew) onSpan({ fromNs, toNs: NOW });
  }, [content]);
}

function SpanPicker({ span, onSpan }: Props): JSX.Element {
  const other = otherName(span);
  const choices: [number, string][] = [[RUN, "the whole run"], ...LASTS_NS.map((ns): [number, string] => [-ns, lastName(ns)])];
  if (other !== null) choices.push([OTHER, other]);
  return (
    <Picker
      label="Show"
      title="The time that every figure and picture is about"
      choices={choices}
      chosen={other !== null ? OTHER : (span?.fromNs ?? RUN)}
      onChoose={(choice) => choice !== OTHER && onSpan(choice === RUN ? null : { fromNs: choice, toNs: NOW })}
    />
  );
}

/** Buttons for what the server does. */
function Orders({ live, content, onSpan, onTrouble }: Props & { onTrouble: (trouble: string) => void }): JSX.Element {
  const off = isOff(content);
  const attempt = (order: () => Promise<void>): void => {
    onTrouble("");
    order().catch((error: unknown) => onTrouble((error as Error).message));
  };
  return (
    <>
      <button
        type="button"
        title="Every figure and picture counts from this moment; ✕ next to it undoes that"
        onClick={() => attempt(async () => onSpan({ fromNs: await live.cut(), toNs: NOW }))}
      >
        From now on
      </button>
      <button type="button" title="Name this moment" onClick={() => {
          const text = prompt("The name of this moment:", `at ${timeText(content.run.duration_ns)}`);
          if (text !== null) attempt(() => live.order("mark", text));
        }}>
        Mark
      </button>
      <button
        type="button"
        title={off ? "Allocations are not recorded at present" : "Allocations are not recorded until you switch it on again"}
        onClick={() => attempt(() => live.order(off ? "on" : "off"))}
      >
        {off ? "Record" : "Stop recording"}
      </button>
    </>
  );
}

export function LiveBar(props: Props): JSX.Element {
  const { live, onChange } = props;
  useResets(props);
  const { state, isPaused } = live;
  const [said, setSaid] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => setSaid(""), SAID_MS);
    return () => clearTimeout(timer);
  }, [said]);
  const save = (): void => {
    setSaid("saving…");
    live.save().then((path) => setSaid(`saved as ${path}`), (error: unknown) => setSaid((error as Error).message));
  };
  return (
    <div class="live">
      <span class={`lamp ${isPaused ? "paused" : state}`} role="status">
        {isPaused ? "paused" : stateName(live)}
      </span>
      {(state !== "over" || live.process !== 0) && (
        <>
          <button type="button" onClick={() => live.pause(!isPaused)}>
            {isPaused ? "Go on" : "Pause"}
          </button>
          <Picker
            label="Every"
            title="How often the figures change"
            choices={INTERVALS.map((ms) => [ms, intervalName(ms)])}
            chosen={live.intervalMs}
            usual={USUAL_MS}
            onChoose={(ms) => {
              live.intervalMs = ms;
              onChange();
            }}
          />
          <Orders {...props} onTrouble={setSaid} />
        </>
      )}
      <SpanPicker {...props} />
      {said !== "" && (
        <span class="said" role="status">
          {said}
        </span>
      )}
      <span class="save">
        Save
        <a href={live.address("/report.html")} download="heapwright.html" title="The report of this moment as one file">
          page
        </a>
        <button type="button" title="The recording up to now, next to it, for every other command of heapwright" onClick={save}>
          trace
        </button>
        <a href={live.address("/stacks.csv")} download="heapwright.csv" title="The stacks of this moment, with all their figures">
          CSV
        </a>
      </span>
    </div>
  );
}
