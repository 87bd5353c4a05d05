// page.tsx - what changed between two recordings
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { Difference } from "../data/difference";
import type { DiffDocument } from "../data/document";
import { Recording } from "../data/recording";
import { COSTS, type View } from "../state";
import { cutDistinct } from "../text/names";
import { COST_NAMES } from "../text/words";
import { Choices } from "../ui/choices";
import { KeyList, useKeys } from "../ui/keys";
import { useSearch } from "../ui/find";
import { IgnoreChip } from "../views/ignore_chip";
import { Sampled } from "../views/sampled";
import { SpanChip } from "../views/span_chip";
import { useLocationState } from "../ui/location";
import { useTheme } from "../ui/theme";
import { Curves } from "./curves";
import { DiffDurations, hasDurations } from "./durations";
import { DiffFlame } from "./flame";
import { DiffOverview } from "./overview";

const TABS: readonly (readonly [View, string])[] = [
  ["overview", "Difference"],
  ["flame", "Flame graph"],
  ["durations", "Durations"],
];

const COMMAND_MOST = 56; // characters; two commands are next to each other

/** Both commands; with their traces if the commands are equal. */
function Commands({ difference: { old, now } }: { difference: Difference }): JSX.Element {
  const runs = [old.document.run, now.document.run];
  const commands = cutDistinct(runs.map(({ command }) => command), COMMAND_MOST);
  const traces = cutDistinct(runs.map(({ trace }) => trace), COMMAND_MOST);
  const isSame = commands[0] === commands[1];
  return (
    <>
      {runs.map((run, i) => (
        <span key={i} class="named-command" title={`${run.command}\n${run.trace}`}>
          <span class="faint">{["old", "new"][i]}</span> <code>{commands[i]}</code>{" "}
          {isSame && <span class="faint">{traces[i]}</span>} <Sampled run={run} />
        </span>
      ))}
    </>
  );
}

export function DiffPage({ document: both }: { document: DiffDocument }): JSX.Element {
  const [state, change] = useLocationState();
  const whole = useMemo(() => new Difference(new Recording(both.old), new Recording(both.new)), [both]);
  const ignore = useSearch(state.ignore);
  const difference = useMemo(() => whole.without(ignore), [whole, ignore]);
  const [palette, turnTheme] = useTheme();
  const [keysShown, showKeys] = useState(false);
  const tabs = TABS.filter(([tab]) => tab !== "durations" || hasDurations(difference));
  useKeys({ change, turnTheme, showKeys, views: tabs.map(([tab]) => tab) });
  useEffect(() => {
    document.title = `${both.new.run.command} – difference – heapwright`;
  }, [both]);
  const view = tabs.some(([tab]) => tab === state.view) ? state.view : "overview";
  const props = { difference, state, change, palette };
  return (
    <>
      <header class="head">
        <div class="run">
          <span class="brand">heapwright</span>
          <Commands difference={difference} />
          <span class="tools">
            <button type="button" onClick={turnTheme} title="Light or dark (t)" aria-label={palette.dark ? "Light" : "Dark"}>
              {palette.dark ? "☀" : "☾"}
            </button>
            <button type="button" onClick={() => showKeys(true)} title="Keys (?)" aria-label="Keys">
              ?
            </button>
          </span>
        </div>
        <div class="bar">
          <nav aria-label="Views">
            {tabs.map(([tab, name]) => (
              <a
                key={tab}
                href={`#${tab}`}
                aria-current={tab === view ? "page" : undefined}
                onClick={(event) => {
                  event.preventDefault();
                  change({ view: tab });
                }}
              >
                {name}
              </a>
            ))}
          </nav>
          {view !== "durations" && (
            <Choices
              label="Cost"
              choices={COSTS.map((cost) => [cost, COST_NAMES[cost]])}
              chosen={state.cost}
              onChoose={(cost) => change({ cost })}
            />
          )}
          <SpanChip recording={difference.longer} span={state.span} onWhole={() => change({ span: null })} />
          <IgnoreChip state={state} change={change} />
        </div>
      </header>
      {view !== "overview" && (
        <div class="strip">
          <Curves {...props} small />
        </div>
      )}
      <main class={view === "overview" ? "" : "fixed"}>
        {view === "flame" && <DiffFlame {...props} />}
        {view === "durations" && <DiffDurations {...props} />}
        {view === "overview" && <DiffOverview {...props} />}
      </main>
      {keysShown && <KeyList onClose={() => showKeys(false)} />}
    </>
  );
}
