// matching.ts - the functions that a search matches, and the stacks that pass through them
import type { Search } from "../ui/find";
import type { Recording } from "./recording";

/** The properties of a function that a search can match. */
export interface Searched {
  readonly name: string;
  readonly file: string;
  /** its path, whose last component is the shown name */
  readonly module: string;
}

/** By function: 1 if the search matches its name, its module or its file. null: there is no search. */
export function matchingOf(functions: readonly Searched[], { matches, of }: Search): Uint8Array | null {
  if (matches === null) return null;
  return Uint8Array.from(functions, (func) => Number(matches(of === "func" ? func.name : func[of])));
}

export function functionsMatching(recording: Recording, search: Search): Uint8Array | null {
  const { functions } = recording.tree;
  return matchingOf(functions.map(({ name, file, module }) => ({ name, file, module: recording.moduleAsRun(module) })), search);
}

/** By row of `stacks`: 1 if a frame of the stack matches. null: there is no search, and all rows are included. */
export function rowsMatching(recording: Recording, search: Search): Uint8Array | null {
  const hits = functionsMatching(recording, search);
  if (hits === null) return null;
  const { parent, func, nodeOfRow } = recording.tree;
  const within = new Uint8Array(parent.length);
  for (let node = 1; node < parent.length; node++)
    within[node] = within[parent[node]!]! | (hits[func[node]!] ?? 0); // parents come first
  return Uint8Array.from(nodeOfRow, (node) => within[node]!);
}
