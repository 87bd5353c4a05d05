// function_label.tsx - a function in a cell of a table, with what tells it from others that are labelled the same
import type { JSX } from "preact";

const LABEL_MOST = 500; // characters: no cell is wider

export function FunctionLabel({ label, apart }: { label: string; apart: string }): JSX.Element {
  return (
    <>
      <span class="asks">{label.slice(0, LABEL_MOST)}</span>
      <span class="apart">{apart === "" ? "" : ` ${apart}`}</span>
    </>
  );
}
