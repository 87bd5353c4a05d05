// location.ts - keeps the page's state and the URL's fragment in step
import { useCallback, useLayoutEffect, useRef, useState } from "preact/hooks";
import { formatFragment, parseFragment, type Span, type State } from "../state";

/** A change of one of these is a new entry of the browser's history; any other change replaces the current entry. */
const STEPS: readonly (keyof State)[] = ["view", "process", "thread", "cost", "mode", "zoom", "of", "curves", "shape"];
const QUIET_MS = 200; // without a change, before the URL is written: browsers refuse to do so for every pixel of a drag

/**
 * A part that depends on the state is a function of the newest state: two keys may be pressed before the next
 * drawing.
 */
export type Change = (part: Partial<State> | ((state: State) => Partial<State>)) => void;

/** The last seconds are those of each process. */
function ofAnyProcess(span: Span | null): Span | null {
  return span !== null && span.fromNs < 0 ? span : null;
}

/** A choice made in one view or process is not valid in another one. */
function merged(state: State, part: Partial<State>): State {
  const isNew = (key: keyof State): boolean => part[key] !== undefined && part[key] !== state[key];
  const ofView = isNew("view") ? { row: -1, sort: "" } : {};
  const ofThread = isNew("thread") && (part.view ?? state.view) !== "scopes" ? { row: -1 } : {}; // its rows are the same for each thread
  const ofProcess = isNew("process") ? { thread: -1, row: -1, zoom: 0, of: -1, span: ofAnyProcess(state.span), window: null, instance: -1 } : {};
  return { ...state, ...ofView, ...ofThread, ...ofProcess, ...part };
}

/** The third function changes the state without a new entry of the history, and nothing else in it. */
export function useLocationState(): [State, Change, (part: Partial<State>) => void] {
  const [state, setState] = useState(() => parseFragment(location.hash));
  const current = useRef(state);
  const pending = useRef(0);

  const change = useCallback<Change>((part) => {
    const before = current.current;
    const after = merged(before, typeof part === "function" ? part(before) : part);
    if (formatFragment(after) === formatFragment(before)) return;
    clearTimeout(pending.current);
    if (STEPS.some((key) => after[key] !== before[key])) {
      history.replaceState(null, "", formatFragment(before));
      history.pushState(null, "", formatFragment(after));
    } else {
      pending.current = setTimeout(() => history.replaceState(null, "", formatFragment(after)), QUIET_MS);
    }
    current.current = after;
    setState(after);
  }, []);

  useLayoutEffect(() => {
    const follow = (): void => {
      clearTimeout(pending.current);
      current.current = parseFragment(location.hash);
      setState(current.current);
    };
    addEventListener("popstate", follow);
    return () => removeEventListener("popstate", follow);
  }, []);

  const carry = useCallback((part: Partial<State>) => {
    if (Object.keys(part).length === 0) return;
    clearTimeout(pending.current);
    current.current = { ...current.current, ...part };
    pending.current = setTimeout(() => history.replaceState(null, "", formatFragment(current.current)), QUIET_MS);
    setState(current.current);
  }, []);
  return [state, change, carry];
}
