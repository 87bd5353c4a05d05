// function_label.tsx - a function in a table cell, with a text that distinguishes it from functions with the same label
import type { JSX } from "preact";

const LABEL_MOST = 500; // characters: no cell is wider

export function FunctionLabel({ label, distinction }: { label: string; distinction: string }): JSX.Element {
  return (
    <>
      <span class="asks">{label.slice(0, LABEL_MOST)}</span>
      <span class="distinction">{distinction === "" ? "" : ` ${distinction}`}</span>
    </>
  );
}
