// stack_list.tsx - the stacks with the largest amounts, with two figures each, as links to the flame graph
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { Recording } from "../data/recording";
import { wordsAmong } from "../data/stack_words";
import type { Cost } from "../state";
import type { Change } from "../ui/location";
import { StackText } from "./stack";

const TOP_STACKS = 8;

/** The rows of whole stacks with the largest amounts, the largest first. */
export function useLargest(recording: Recording, amounts: Float64Array): readonly number[] {
  return useMemo(() => {
    const top: number[] = [];
    amounts.forEach((amount, row) => {
      if (amount <= (top.length < TOP_STACKS ? 0 : amounts[top.at(-1)!]!) || recording.cutStacks(row) !== 0) return;
      const at = top.findIndex((other) => amounts[other]! < amount);
      top.splice(at < 0 ? top.length : at, 0, row);
      top.length = Math.min(top.length, TOP_STACKS);
    });
    return top;
  }, [recording, amounts]);
}

interface Props {
  readonly recording: Recording;
  readonly change: Change;
  readonly rows: readonly number[];
  /** the two figures of a row */
  readonly figures: (row: number) => readonly [string, string];
  /** what the flame graph then shows */
  readonly cost: Cost;
}

export function StackList({ recording, change, rows, figures, cost }: Props): JSX.Element {
  const words = useMemo(() => wordsAmong(recording, rows), [recording, rows]);
  return (
    <ul class={recording.isSampled ? "top estimates" : "top"}>
      {rows.map((row) => {
        const [figure, note] = figures(row);
        return (
          <li key={row}>
            <span class="figure">{figure}</span>
            <span class="figure faint">{note}</span>
            <a
              class="plain-link code"
              href="#flame"
              onClick={(event) => {
                event.preventDefault();
                change({ view: "flame", cost, zoom: recording.tree.nodeOfRow[row]! });
              }}
            >
              <StackText line={words.line(row)} />
            </a>
          </li>
        );
      })}
    </ul>
  );
}
