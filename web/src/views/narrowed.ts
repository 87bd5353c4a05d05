// narrowed.ts - the processes and threads that can be chosen, and the recording of the chosen ones
import { useMemo } from "preact/hooks";
import type { PageDocument, ProcessFields } from "../data/document";
import { cachedFor } from "../data/cached";
import { rowsMatching } from "../data/matching";
import { Recording } from "../data/recording";
import { ofThread } from "../data/thread";
import type { State } from "../state";
import { bytesText } from "../text/format";
import { useSearch } from "../ui/find";
import { togetherCount } from "./processes";
import { distinctName } from "./threads";

export type Choice = readonly [number, string];

const COMMAND_MOST = 40;

/** The name of a document: a process, or all processes together. */
function nameOf(document: PageDocument): string {
  const { run } = document;
  const together = togetherCount(document);
  if (together > 1) return `all ${together} together`;
  const command = run.command.length > COMMAND_MOST ? `${run.command.slice(0, COMMAND_MOST)}…` : run.command;
  return `${run.pid} (${bytesText(run.allocated_bytes)}) ${command}`; // a list cuts the end
}

/** 0 is the process that the page opens with; the others have their IDs. Empty if there is only one. */
export function processChoices(document: PageDocument): readonly Choice[] {
  const others = document.others ?? [];
  return others.length === 0 ? [] : [[0, nameOf(document)], ...others.map((other): Choice => [other.run.pid, nameOf(other)])];
}

/** The same for a running program, whose server has a document of each process. */
export function liveProcessChoices(whole: PageDocument): readonly Choice[] {
  const { processes } = whole;
  if (processes.length < 2) return [];
  const largest = [...processes].sort((a, b) => b.allocated_bytes - a.allocated_bytes);
  const nameOfOne = ({ pid, allocated_bytes, command }: ProcessFields): string => `${pid} (${bytesText(allocated_bytes)}) ${command.slice(0, COMMAND_MOST)}`;
  return [[0, `all ${togetherCount(whole)} together`], ...largest.map((process): Choice => [process.pid, nameOfOne(process)])];
}

/** -1 is all threads; the others have their rows, the one that allocated most first. Empty if there is only one. */
export function threadChoices(whole: Recording): readonly Choice[] {
  const { threads, stack_threads } = whole.document;
  if (stack_threads === undefined) return [];
  const rows = threads.tid.map((_tid, row) => row).filter((row) => threads.allocation_calls[row]! + threads.free_calls[row]! > 0);
  rows.sort((a, b) => threads.allocated_bytes[b]! - threads.allocated_bytes[a]!);
  return [[-1, "all"], ...rows.map((row): Choice => [row, distinctName(whole, row)])];
}

export const recordingOf = cachedFor((document: PageDocument) => new Recording(document));

export interface Narrowed {
  /** the whole recording of the process */
  readonly whole: Recording;
  /** of the chosen thread, without ignored stacks */
  readonly recording: Recording;
}

export function useNarrowed(document: PageDocument, { process, thread, ignore }: State): Narrowed {
  const shown = document.others?.find((other) => process !== 0 && other.run.pid === process) ?? document;
  const whole = recordingOf(shown);
  const search = useSearch(ignore);
  const ofOne = useMemo(() => ofThread(whole, thread), [whole, thread]);
  const recording = useMemo(() => ofOne.without(rowsMatching(ofOne, search)), [ofOne, search]);
  return { whole, recording };
}
