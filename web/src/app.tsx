// app.tsx - the frame around the views: the recorded command, and the choice of view, cost and interval
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";
import { carried } from "./data/carried";
import type { PageDocument } from "./data/document";
import type { Recording } from "./data/recording";
import type { LiveDocuments } from "./data/live";
import type { DataSource } from "./data/source";
import { DiffPage } from "./diff/page";
import { COSTS, NOW, VIEWS, type State, type View } from "./state";
import { bytesText, countedText, estimateText, timeText } from "./text/format";
import { COST_NAMES, VIEW_NAMES } from "./text/words";
import { Choices } from "./ui/choices";
import { KeyList, useKeys } from "./ui/keys";
import { useLocationState, type Change } from "./ui/location";
import { Picker } from "./ui/picker";
import { useTheme } from "./ui/theme";
import { DurationsView } from "./views/durations";
import { FlameView } from "./views/flame";
import { brushText } from "./views/instance_brush";
import { Leaks } from "./views/leaks";
import { LiveBar } from "./views/live_bar";
import { Lifetimes } from "./views/lifetimes";
import { liveProcessChoices, processChoices, recordingOf, threadChoices, useNarrowed, type Choice } from "./views/narrowed";
import { usePrepared } from "./views/prepare";
import { isEmpty, Nothing } from "./views/nothing";
import { Overview } from "./views/overview";
import { IgnoreChip } from "./views/ignore_chip";
import { commandOf, togetherCount } from "./views/processes";
import { RunChart } from "./views/run_chart";
import { Sampled } from "./views/sampled";
import { ScopesView } from "./views/scopes";
import { Sizes } from "./views/sizes";
import { SpanChip } from "./views/span_chip";
import { threadName, Threads } from "./views/threads";
import { Timeline } from "./views/timeline";
import type { ViewProps } from "./views/view";

const COMPONENTS: Readonly<Record<View, (props: ViewProps) => JSX.Element>> = {
  overview: Overview,
  timeline: Timeline,
  flame: FlameView,
  scopes: ScopesView,
  leaks: Leaks,
  sizes: Sizes,
  threads: Threads,
  lifetimes: Lifetimes,
  durations: DurationsView,
};
const WITH_OWN_CHART: readonly View[] = ["overview", "timeline"];
const OF_NOTHING: readonly View[] = ["overview", "scopes", "durations"]; // these views also show a run without allocations
const WITH_COST: readonly View[] = ["flame"];
const OF_MEMORY: readonly View[] = ["overview", "flame", "sizes"]; // these views show a heap that was not recorded

export function Failure({ what }: { what: string }): JSX.Element {
  return (
    <div class="failure">
      <h2>There is nothing to show</h2>
      <p>{what}</p>
    </div>
  );
}

function Run({ recording }: { recording: Recording }): JSX.Element {
  const { run, thread, heap: ownHeap, memory } = recording.document;
  const count = countedText(run.threads, "thread");
  const threads = thread === undefined ? count : `thread ${threadName(recording, thread)}`;
  const together = togetherCount(recording.document);
  const heap = isEmpty(recording.document) ? ["nothing allocated"] : [threads, `peak ${estimateText("bytes", run.peak_bytes, run.peak_bytes_error)}`];
  const whose = together > 1 ? `${together} processes` : `pid ${run.pid}`;
  const facts =
    memory === undefined
      ? [...(ownHeap === undefined ? [] : [`heap ${ownHeap}, without malloc`]), whose, timeText(run.duration_ns), ...heap]
      : [...(run.pid === 0 ? [] : [whose]), "what lived at one moment", bytesText(run.live_bytes_at_end)];
  const command = commandOf(recording.document);
  return (
    <>
      <span class="brand">heapwright</span>
      <code class="command" title={command}>
        {command}
      </code>
      <span class="facts">{facts.join(" · ")}</span>
      <Sampled run={run} />
    </>
  );
}

interface HeadProps {
  readonly recording: Recording;
  readonly processes: readonly Choice[];
  readonly threads: readonly Choice[];
  readonly views: readonly View[];
  readonly state: State;
  readonly change: Change;
  readonly dark: boolean;
  readonly bar: JSX.Element | null;
  readonly isMoving: boolean;
  readonly onTheme: () => void;
  readonly onKeys: () => void;
}

function Head({ recording, processes, threads, views, state, change, dark, bar, isMoving, onTheme, onKeys }: HeadProps): JSX.Element {
  return (
    <header class="head">
      <div class="run">
        <Run recording={recording} />
        <span class="tools">
          <button type="button" onClick={onTheme} title="Light or dark (t)" aria-label={dark ? "Light" : "Dark"}>
            {dark ? "☀" : "☾"}
          </button>
          <button type="button" onClick={onKeys} title="Keys (?)" aria-label="Keys">
            ?
          </button>
        </span>
      </div>
      {bar}
      <div class="bar">
        <nav aria-label="Views">
          {views.map((view) => (
            <a
              key={view}
              href={`#${view}`}
              aria-current={view === state.view ? "page" : undefined}
              onClick={(event) => {
                event.preventDefault();
                change({ view });
              }}
            >
              {VIEW_NAMES[view]}
            </a>
          ))}
        </nav>
        {WITH_COST.includes(state.view) && recording.document.memory === undefined && (
          <Choices
            label="Cost"
            choices={COSTS.map((cost) => [cost, COST_NAMES[cost]])}
            chosen={state.cost}
            onChoose={(cost) => change({ cost })}
          />
        )}
        {processes.length > 0 && (
          <Picker
            label="Process"
            title="The process that is shown (p)"
            choices={processes}
            chosen={processes.some(([pid]) => pid === state.process) ? state.process : 0}
            onChoose={(process) => change({ process })}
          />
        )}
        {threads.length > 0 && (
          <Picker
            label="Thread"
            title="The thread whose allocations are shown (h)"
            choices={threads}
            chosen={recording.document.thread ?? -1}
            onChoose={(thread) => change({ thread })}
          />
        )}
        <SpanChip recording={recording} span={state.span} isMoving={isMoving} instance={brushText(recording, state)} onWhole={() => change({ span: null })} />
        <IgnoreChip state={state} change={change} />
      </div>
    </header>
  );
}

/** `live`: the source, if it is a running program. */
export function App({ source, live }: { source: DataSource; live: LiveDocuments | null }): JSX.Element {
  const [, update] = useReducer((count: number) => count + 1, 0);
  useEffect(() => source.onChange(() => update(0)), [source]);
  const content = source.document();
  if (content.schema !== "heapwright-page/1") return <DiffPage document={content} />;
  return <Page {...{ content, live }} onLive={() => update(0)} />;
}

/** Some views need data that a recording may not have. */
function hasView({ durations, scopes, memory }: PageDocument, view: View): boolean {
  if (memory !== undefined) return OF_MEMORY.includes(view);
  if (view === "durations") return durations !== undefined;
  return view !== "scopes" || scopes !== undefined;
}

/** The state in a newer document of a running program. */
function useCarried(content: PageDocument, state: State, carry: (part: Partial<State>) => void): State {
  const shown = useRef(content);
  const part = shown.current === content ? {} : carried(state, recordingOf(shown.current), recordingOf(content));
  useLayoutEffect(() => {
    shown.current = content;
    carry(part);
  }, [content]);
  return shown.current === content ? state : { ...state, ...part };
}

interface PageProps {
  readonly content: PageDocument;
  readonly live: LiveDocuments | null;
  readonly onLive: () => void;
}

function Page({ content, live, onLive }: PageProps): JSX.Element {
  const [located, change, carry] = useLocationState();
  const wanted = useCarried(content, located, carry);
  const { whole, recording } = useNarrowed(content, wanted);
  const span = useMemo(() => wanted.span && recording.spanNow(wanted.span), [wanted.span, recording]);
  const state = useMemo<State>(() => ({ ...wanted, span, ...(content.memory && { cost: "peak" }) }), [wanted, span, content]);
  usePrepared(recording, live === null || live.isPaused || live.state !== "running");
  const opened = live?.whole.schema === "heapwright-page/1" ? live.whole : content;
  const processes = useMemo(() => (live === null ? processChoices(content) : liveProcessChoices(opened)), [content, opened]);
  useEffect(() => live?.choose(state.process), [state.process]);
  const shownRuns = useRef(live?.runs);
  useEffect(() => {
    if (shownRuns.current !== live?.runs) change({ process: 0, span: null, window: null, instance: -1 }); // its times are others
    shownRuns.current = live?.runs;
  }, [live?.runs]);
  const threads = useMemo(() => threadChoices(whole), [whole]);
  const [palette, turnTheme] = useTheme();
  const [keysShown, showKeys] = useState(false);
  const views = VIEWS.filter((view) => hasView(whole.document, view));
  useKeys({ change, turnTheme, showKeys, views, processes, threads });
  useEffect(() => {
    document.title = `${commandOf(recording.document)} – heapwright`;
  }, [recording]);

  const view = hasView(whole.document, state.view) ? state.view : "overview";
  const { run } = recording.document;
  const hasBlocks = !isEmpty(recording.document);
  const isShown = hasBlocks || OF_NOTHING.includes(view) || (view === "threads" && run.free_calls > 0); // frees of other threads' blocks
  const Shown = isShown ? COMPONENTS[view] : Nothing;
  const props: ViewProps = { recording, opened, isLive: live !== null, isRunning: live?.state === "running", state, change, palette };
  const bar = live && (
    <LiveBar {...{ live, content }} span={wanted.span} onSpan={(chosen) => change({ span: chosen })} onChange={onLive} />
  );
  return (
    <>
      <Head
        {...{ recording, processes, threads, views, change, bar }}
        state={{ ...state, view }}
        isMoving={wanted.span?.toNs === NOW}
        dark={palette.dark}
        onTheme={turnTheme}
        onKeys={() => showKeys(true)}
      />
      {!WITH_OWN_CHART.includes(view) && hasBlocks && content.memory === undefined && (
        <div class="strip">
          <RunChart {...props} small />
        </div>
      )}
      <main class={view === "overview" || view === "timeline" ? "" : "fixed"}>
        <Shown key={view} {...props} />
      </main>
      {keysShown && <KeyList onClose={() => showKeys(false)} />}
    </>
  );
}
