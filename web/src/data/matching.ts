// matching.ts - what of a recording a search names: functions, and stacks that pass through them
import type { Search } from "../ui/find";
import type { Recording } from "./recording";

/** What a search can be about of a function. */
export interface Searched {
  readonly name: string;
  readonly file: string;
  /** its path, which ends with what it is called */
  readonly module: string;
}

/** By function: 1 where the search is about its name, or about its module's or its file's. null: nothing is searched for. */
export function matchingOf(functions: readonly Searched[], { matches, of }: Search): Uint8Array | null {
  if (matches === null) return null;
  return Uint8Array.from(functions, (func) => Number(matches(of === "func" ? func.name : func[of])));
}

export function functionsMatching(recording: Recording, search: Search): Uint8Array | null {
  const { functions } = recording.tree;
  return matchingOf(functions.map(({ name, file, module }) => ({ name, file, module: recording.moduleAsRun(module) })), search);
}

/** By row of `stacks`: 1 where a frame of the stack matches. null: nothing is searched for, and every row is meant. */
export function rowsMatching(recording: Recording, search: Search): Uint8Array | null {
  const hits = functionsMatching(recording, search);
  if (hits === null) return null;
  const { parent, func, nodeOfRow } = recording.tree;
  const within = new Uint8Array(parent.length);
  for (let node = 1; node < parent.length; node++)
    within[node] = within[parent[node]!]! | (hits[func[node]!] ?? 0); // parents come first
  return Uint8Array.from(nodeOfRow, (node) => within[node]!);
}
