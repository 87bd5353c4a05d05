// stack.tsx - one call stack: as a line, or as the list of its frames
import type { JSX } from "preact";
import type { PageDocument } from "../data/document";
import { keptFor } from "../data/kept";
import type { Recording } from "../data/recording";
import { baseName, type Place } from "../data/tree";
import { foldedName } from "../text/names";

/** Functions that only pass a request on say nothing about who made it. */
const PASSES_ON = /^(operator (new|delete)|(void\* )?std::(_|allocator)|__gnu_cxx::|g_(malloc|try_malloc|slice_alloc)|x?(malloc|calloc|realloc)$)/;
const SHORT_FRAMES = 3;

/** The frames that say who asked: at the inner end, what only passes requests on or has no name is left out. */
export function asking(places: readonly Place[]): readonly Place[] {
  const first = places.findIndex((place) => !PASSES_ON.test(place.name) && !place.name.startsWith("?? "));
  return first > 0 ? places.slice(first) : places;
}

/** How many frames two stacks have in common, from the inner end. */
function commonFrames(a: readonly string[], b: readonly string[]): number {
  const fork = a.findIndex((name, depth) => name !== b[depth]);
  return fork < 0 ? a.length : fork;
}

/** A line for each of some stacks: the function that asked, and of those with the same, the caller that tells them apart. */
export function distinctStacks(recording: Recording, rows: readonly number[]): string[] {
  const labels = namedApart(recording, rows);
  return labels.map((label, i) => {
    const twins = rows.filter((_row, k) => k !== i && labels[k] === label);
    return twins.length === 0 ? label : `${label} (${placeApart(recording, rows[i]!, twins)})`;
  });
}

/** Where in the code a frame is: by its line, or by its address where there is none. */
function codeOf({ file, line, module, address }: Place): string {
  return line > 0 ? `${baseName(file)}:${line}` : `${baseName(module)}+0x${address.toString(16)}`;
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

const shortStacks = keptFor<PageDocument, Map<number, string>>(() => new Map()); // by row

/** "inner ← middle ← outer"; kept, since tables ask again for each row that they draw */
export function shortStack(recording: Recording, row: number): string {
  const kept = shortStacks(recording.document);
  let text = kept.get(row);
  if (text === undefined) kept.set(row, (text = madeShortStack(recording, row)));
  return text;
}

function madeShortStack(recording: Recording, row: number): string {
  const names = asking(recording.stack(row))
    .slice(0, SHORT_FRAMES)
    .map((place) => foldedName(place.name));
  const cut = recording.cutStacks(row);
  if (cut > 0) names.unshift(`… ${cut} stacks`);
  return names.length > 0 ? names.join(" ← ") : "no frames";
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
