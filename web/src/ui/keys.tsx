// keys.tsx - the keys that work everywhere, and the overlay that lists them
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { COSTS, type View } from "../state";
import type { Change } from "./location";
import { nextChoice } from "./picker";

export interface Commands {
  readonly change: Change;
  readonly turnTheme: () => void;
  readonly showKeys: (shown: boolean) => void;
  /** from left to right */
  readonly views: readonly View[];
  /** the choices of the pickers */
  readonly processes?: Choices;
  readonly threads?: Choices;
}

type Choices = readonly (readonly [number, string])[];

const LIST: readonly (readonly [string, string])[] = [
  ["1, 2, …", "show a view, numbered from left to right"],
  ["c", "the next cost: peak, at end, calls, bytes, temporary"],
  ["/", "find names; Enter keeps the pattern, Escape clears it"],
  ["i", "ignore names: stacks that pass through them are left out"],
  ["x", "show the whole run"],
  ["h, p", "show only the next thread; show the next process; with Shift, the previous one"],
  ["← →", "over a chart: move the interval; with Shift, make it longer or shorter; Escape: the whole run"],
  ["↑ ↓ ← →", "in a flame graph, tree or table: go to the neighbour"],
  ["← →", "in the tree: close and open; from a closed row to its caller, from an open row to its first callee"],
  ["Enter", "in a flame graph: zoom in; Backspace: zoom out, Escape: show all; in a table: the same as a double click"],
  ["Tab", "to the next chart, list or table; on the heading of a column, Enter or Space sorts by it"],
  ["+ −", "over the lanes of scopes: zoom; Shift ← →: move, Escape: all; arrows: the neighbour, also in the next lane; Enter: show it in every view"],
  ["s", "in the tree: show the function with its callers and callees (or a double click)"],
  ["Alt ← →", "back and forward through earlier views"],
  ["t", "switch between light and dark"],
  ["?", "this list; Escape closes it"],
];

/** Keys typed into a field are not commands. */
function isWriting(target: EventTarget | null): boolean {
  return target instanceof HTMLInputElement || target instanceof HTMLSelectElement;
}

/** Listens from the first drawing on. No command depends on what was drawn, which may be older than the last key. */
export function useKeys({ change, turnTheme, showKeys, views, processes = [], threads = [] }: Commands): void {
  useLayoutEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.key === "Escape") showKeys(false);
      if (isWriting(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
      const [key, step] = [event.key.toLowerCase(), event.shiftKey ? -1 : 1];
      const view = views[Number(event.key) - 1];
      if (view !== undefined) change({ view });
      else if (event.key === "c") change(({ cost }) => ({ cost: COSTS[(COSTS.indexOf(cost) + 1) % COSTS.length]! }));
      else if (key === "h" && threads.length > 0) change(({ thread }) => ({ thread: nextChoice(threads, thread, step) }));
      else if (key === "p" && processes.length > 0) change(({ process }) => ({ process: nextChoice(processes, process, step) }));
      else if (event.key === "x") change({ span: null, window: null });
      else if (event.key === "t") turnTheme();
      else if (event.key === "?") showKeys(true);
      else if (event.key === "/") document.querySelector<HTMLInputElement>(".find input")?.focus();
      else if (event.key === "i") document.querySelector<HTMLInputElement>(".ignore input")?.focus();
      else return;
      event.preventDefault();
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, [views.join(), processes, threads]);
}

export function KeyList({ onClose }: { onClose: () => void }): JSX.Element {
  const close = useRef<HTMLButtonElement>(null);
  useEffect(() => close.current?.focus(), []);
  return (
    <div class="overlay" role="dialog" aria-modal="true" aria-label="Keys" onClick={onClose}>
      <div class="panel" onClick={(event) => event.stopPropagation()}>
        <h2>Keys</h2>
        <dl>
          {LIST.map(([keys, what]) => (
            <>
              <dt>
                <kbd>{keys}</kbd>
              </dt>
              <dd>{what}</dd>
            </>
          ))}
        </dl>
        <p>
          <button type="button" class="plain-button" ref={close} onClick={onClose}>
            Close
          </button>
        </p>
      </div>
    </div>
  );
}
