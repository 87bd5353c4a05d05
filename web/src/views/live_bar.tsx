// live_bar.tsx - what the viewer of a running program can do: pause, choose the interval, save
import type { JSX } from "preact";
import { INTERVALS, type LiveDocuments } from "../data/live";
import { Picker } from "../ui/picker";

const LAGS_MS = 1500;

function stateName({ state, trouble, behindMs }: LiveDocuments): string {
  const running = behindMs < LAGS_MS ? "live" : `live, ${Math.round(behindMs / 1000)} s behind`;
  return state === "running" ? running : state === "over" ? "the program has ended" : trouble;
}

function intervalName(ms: number): string {
  return ms < 1000 ? `${ms} ms` : `${ms / 1000} s`;
}

export function LiveBar({ live, onChange }: { live: LiveDocuments; onChange: () => void }): JSX.Element {
  const { state, isPaused } = live;
  return (
    <span class="live">
      <span class={`lamp ${isPaused ? "paused" : state}`} role="status">
        {isPaused ? "paused" : stateName(live)}
      </span>
      {state !== "over" && (
        <>
          <button type="button" onClick={() => live.pause(!isPaused)}>
            {isPaused ? "Go on" : "Pause"}
          </button>
          <Picker
            label="Every"
            title="How often the figures change"
            choices={INTERVALS.map((ms) => [ms, intervalName(ms)])}
            chosen={live.intervalMs}
            onChoose={(ms) => {
              live.intervalMs = ms;
              onChange();
            }}
          />
        </>
      )}
      <a href={live.address("/report.html")} download="heapwright.html" title="The report of this moment as one file">
        Save
      </a>
    </span>
  );
}
