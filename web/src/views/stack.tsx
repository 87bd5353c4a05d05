// stack.tsx - one call stack: as a line, or as the list of its frames
import type { JSX } from "preact";
import type { Recording } from "../data/recording";
import { stackWordsOf, type StackLine } from "../data/stack_words";
import { baseName, type Place } from "../data/tree";

const TITLE_MOST = 2000; // characters

/**
 * A stack in a line. If it is too long, its middle is cut first, then the callers that distinguish it, its place, and
 * last the allocating function.
 */
export function StackText({ line, before = "" }: { line: StackLine; before?: string }): JSX.Element {
  const { asks, chain, distinction, place } = line;
  return (
    <span class="stack-line" title={`${before}${asks}${chain}${distinction}${place}`.slice(0, TITLE_MOST)}>
      <span class="asks">
        {before}
        {asks}
      </span>
      <span class="chain">{chain}</span>
      <span class="distinction">
        <bdi>{distinction}</bdi>
      </span>
      <span class="place">
        <bdi>{place}</bdi>
      </span>
    </span>
  );
}

/** The same in a cell of a table. */
export function StackCell({ recording, row, before = "" }: { recording: Recording; row: number; before?: string }): JSX.Element {
  return <StackText line={stackWordsOf(recording).line(row)} before={before} />;
}

export function placeText(place: Pick<Place, "file" | "line" | "module" | "reason">): string {
  const where = place.file === "" ? place.reason : place.line > 0 ? `${baseName(place.file)}:${place.line}` : baseName(place.file);
  return [where, place.module].filter((part) => part !== "").join(" · ");
}

export function Frames({ places }: { places: readonly Place[] }): JSX.Element {
  return (
    <ol class="frames">
      {places.map((place, i) => (
        <li key={i}>
          <span class="function" title={place.name.slice(0, 2000)}>
            {place.name}
            {place.inlined && <span class="badge">inlined</span>}
          </span>
          <span class="where" title={place.file}>
            {placeText(place)}
          </span>
        </li>
      ))}
    </ol>
  );
}
