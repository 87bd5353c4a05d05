// stack.tsx - one call stack: as a line, or as the list of its frames
import type { JSX } from "preact";
import type { Recording } from "../data/recording";
import { asking, codeOf, commonFrames, stackWordsOf } from "../data/stack_words";
import { baseName, type Place } from "../data/tree";
import { foldedName } from "../text/names";

const TITLE_MOST = 2000; // characters

/** A line for each of some stacks: the function that asked, and of those with the same, the caller that tells them apart. */
export function distinctStacks(recording: Recording, rows: readonly number[]): string[] {
  const labels = namedApart(recording, rows);
  return labels.map((label, i) => {
    const twins = rows.filter((_row, k) => k !== i && labels[k] === label);
    return twins.length === 0 ? label : `${label} (${placeApart(recording, rows[i]!, twins)})`;
  });
}

/** Of stacks whose functions are the same: the place where this one leaves the others, from the inner end. */
function placeApart(recording: Recording, row: number, twins: readonly number[]): string {
  const codesOf = (of: number): string[] => recording.stack(of).map(codeOf);
  const own = codesOf(row);
  const fork = Math.max(0, ...twins.map((twin) => commonFrames(own, codesOf(twin))).filter((depth) => depth < own.length));
  return own[fork] ?? recording.entryOf(row);
}

/** The same by names alone. */
function namedApart(recording: Recording, rows: readonly number[]): string[] {
  const all = rows.map((row) => asking(recording.stack(row)).map((place) => foldedName(place.name)));
  const named = all.map((names) => names.filter((name) => !name.startsWith("?? ")));
  const keys = named.map((names) => names.join("\n"));
  return keys.map((key, i) => {
    const stacks = key !== "" && keys.indexOf(key) === keys.lastIndexOf(key) ? named : all; // twins differ in what has no name
    const own = stacks[i]!;
    const others = stacks.filter((other) => other !== own && other[0] === own[0]);
    const fork = Math.max(0, ...others.map((other) => commonFrames(own, other)).filter((depth) => depth < own.length));
    const names = [own[0] ?? "no frames"];
    if (fork > 1) names.push("…");
    if (fork > 0) names.push(own[fork]!);
    return names.join(" ← ");
  });
}

/** A stack in a cell of a table. In little room its middle goes first, then what tells it apart, and who asked last. */
export function StackCell({ recording, row, before = "" }: { recording: Recording; row: number; before?: string }): JSX.Element {
  const { asks, chain, apart } = stackWordsOf(recording).line(row);
  return (
    <span class="stack-line" title={`${before}${asks}${chain}${apart}`.slice(0, TITLE_MOST)}>
      <span class="asks">
        {before}
        {asks}
      </span>
      <span class="chain">{chain}</span>
      <span class="apart">{apart}</span>
    </span>
  );
}

export function placeText(place: Pick<Place, "file" | "line" | "module" | "reason">): string {
  const where = place.file === "" ? place.reason : place.line > 0 ? `${baseName(place.file)}:${place.line}` : baseName(place.file);
  return [where, baseName(place.module)].filter((part) => part !== "").join(" · ");
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
