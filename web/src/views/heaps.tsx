// heaps.tsx - the heaps that the program gives out itself, next to malloc: those with the largest peaks
import type { JSX } from "preact";
import type { Recording } from "../data/recording";
import { bytesText, countText } from "../text/format";

const SHOWN = 8;

/** null: the program has no heaps of its own. */
export function Heaps({ recording }: { recording: Recording }): JSX.Element | null {
  const { heaps = [], heaps_left_out = 0 } = recording.document;
  if (heaps.length === 0) return null;
  const shown = heaps.slice(0, SHOWN);
  const left = heaps.length - shown.length + heaps_left_out;
  return (
    <section class="panel">
      <h2>Heaps that the program gives out itself</h2>
      <ul class="top">
        {shown.map(({ name, peak_bytes, live_bytes_at_end, allocation_calls }) => (
          <li key={name}>
            <span class="figure">{bytesText(peak_bytes)}</span>
            <span class="figure faint">{countText(allocation_calls)} calls</span>
            <span class="code" title={name}>
              {name} <span class="faint">{bytesText(live_bytes_at_end)} at the end</span>
            </span>
          </li>
        ))}
      </ul>
      <p class="faint">
        {left > 0 ? `${countText(left)} more. ` : ""}Peaks; more about one: <code>heapwright report --heap NAME</code>
      </p>
    </section>
  );
}
