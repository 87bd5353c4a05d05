// carried.ts - what the viewer chose in one document of a running program, in the next one
//
// Nodes, functions and rows have other numbers in each document. They are the same if they have the same names: a node also
// those of the nodes above it, a stack also the same entry. So have instances of scopes.
import type { State } from "../state";
import type { PageDocument } from "./document";
import { instancesOf } from "./instances";
import type { Recording } from "./recording";
import { scopesOf } from "./scopes";

function functionKey(recording: Recording, func: number): string {
  const code = recording.tree.functions[func];
  return code === undefined ? String(func) : `${recording.moduleAsRun(code.module)} ${code.name}`;
}

/** The functions from the root to a node. */
function pathOf(recording: Recording, node: number): string[] {
  const { parent, func } = recording.tree;
  const path: string[] = [];
  for (let at = node; at > 0; at = parent[at]!) path.push(functionKey(recording, func[at]!));
  return path.reverse();
}

/** The node at the end of a path, or the last one of it that there is. */
function nodeAt(recording: Recording, path: readonly string[]): { node: number; isFound: boolean } {
  const { parent, func } = recording.tree;
  let node = 0;
  for (const key of path) {
    let child = node + 1;
    while (child < parent.length && (parent[child] !== node || functionKey(recording, func[child]!) !== key)) child++;
    if (child === parent.length) return { node, isFound: false };
    node = child;
  }
  return { node, isFound: true };
}

function functionIn(before: Recording, after: Recording, func: number): number {
  const key = functionKey(before, func);
  return after.tree.functions.findIndex((_code, other) => functionKey(after, other) === key);
}

function stackIn(before: Recording, after: Recording, row: number): number {
  const node = before.tree.nodeOfRow[row];
  if (node === undefined) return -1;
  const found = nodeAt(after, pathOf(before, node));
  if (!found.isFound) return -1;
  return after.tree.nodeOfRow.findIndex((other, candidate) => other === found.node && after.entryOf(candidate) === before.entryOf(row));
}

function threadIn(before: PageDocument, after: PageDocument, row: number): number {
  const { tid, pid } = before.threads;
  return after.threads.tid.findIndex((other, candidate) => other === tid[row] && after.threads.pid[candidate] === pid[row]);
}

function scopeIn(before: PageDocument, after: PageDocument, row: number): number {
  const names: string[] = [];
  for (let at = row; at >= 0 && at < (before.scopes?.count ?? 0); at = before.scopes!.outer[at]!) names.unshift(before.scopes!.name[at]!);
  return scopesOf(after)?.rowOf(names) ?? -1;
}

/** An instance has its number within its path; the parts of a task have none. */
function instanceIn(before: PageDocument, after: PageDocument, instance: number): number {
  const [instances, next] = [instancesOf(before), instancesOf(after)];
  const tid = instances?.laneOf(instance)?.tid;
  if (instances === null || next === null || tid === undefined) return -1;
  const scope = scopeIn(before, after, instances.column("scope")[instance]!);
  const key = instances.column("sequence")[instance]! > 0 ? "sequence" : "begin_ns";
  const value = instances.column(key)[instance]!;
  const [scopes, values] = [next.column("scope"), next.column(key)];
  return values.findIndex((other, candidate) => other === value && scopes[candidate] === scope && next.laneOf(candidate)?.tid === tid);
}

function rowIn(state: State, before: Recording, after: Recording): number {
  switch (state.view) {
    case "leaks":
    case "lifetimes":
      return stackIn(before, after, state.row);
    case "threads":
      return threadIn(before.document, after.document, state.row);
    case "scopes":
      return scopeIn(before.document, after.document, state.row);
    default:
      return state.row; // sizes: the smallest one
  }
}

/** The parts of the state that are other numbers in the next document. */
export function carried(state: State, before: Recording, after: Recording): Partial<State> {
  const zoom = state.zoom > 0 ? nodeAt(after, pathOf(before, state.zoom)).node : state.zoom;
  const of = state.of >= 0 ? functionIn(before, after, state.of) : state.of;
  const row = state.row >= 0 ? rowIn(state, before, after) : state.row;
  const thread = state.thread >= 0 ? threadIn(before.document, after.document, state.thread) : state.thread;
  const instance = state.instance >= 0 ? instanceIn(before.document, after.document, state.instance) : state.instance;
  const wanted: Partial<State> = { zoom, of, row, thread, instance };
  const changed = Object.entries(wanted).filter(([key, value]) => state[key as keyof State] !== value);
  return Object.fromEntries(changed);
}
