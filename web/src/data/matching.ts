// matching.ts - what of a recording a search names: functions, and stacks that pass through them
import type { Search } from "../ui/find";
import type { Recording } from "./recording";

/** By function: 1 where the search is about its name, or about its module's or its file's. */
export function functionsMatching(recording: Recording, { matches, of }: Search): Uint8Array | null {
  if (matches === null) return null;
  return Uint8Array.from(recording.tree.functions, ({ name, module, file }) =>
    Number(matches(of === "module" ? recording.moduleName(module) : of === "file" ? file : name)),
  );
}

/** By row of `stacks`: 1 where a frame of the stack matches. null: nothing is searched for, and every row is meant. */
export function rowsMatching(recording: Recording, search: Search): Uint8Array | null {
  const hits = functionsMatching(recording, search);
  if (hits === null) return null;
  const { parent, func, nodeOfRow } = recording.tree;
  const within = new Uint8Array(parent.length);
  for (let node = 1; node < parent.length; node++) within[node] = within[parent[node]!]! | (hits[func[node]!] ?? 0); // parents come first
  return Uint8Array.from(nodeOfRow, (node) => within[node]!);
}
