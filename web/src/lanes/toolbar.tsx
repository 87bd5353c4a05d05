// toolbar.tsx - the buttons of the lanes: other times, and a picture
import type { JSX } from "preact";
import type { Span } from "../state";
import { zoomedIn, zoomedOut, type Times } from "./window";

interface Props extends Times {
  /** the interval that the views show */
  readonly span: Span | null;
  readonly onPicture: () => void;
}

export function Toolbar({ run, window, onWindow, span, onPicture }: Props): JSX.Element {
  return (
    <span class="buttons">
      <button type="button" title="Zoom in (+, or Ctrl and the wheel)" aria-label="Zoom in" onClick={() => onWindow(zoomedIn(window, run))}>
        +
      </button>
      <button type="button" title="Zoom out (-)" aria-label="Zoom out" onClick={() => onWindow(zoomedOut(window, run))}>
        −
      </button>
      {span !== null && span.fromNs < span.toNs && (
        <button type="button" title="Zoom to the chosen interval" onClick={() => onWindow(span)}>
          Interval
        </button>
      )}
      <button type="button" title="Show the times of the whole run (Escape)" disabled={window === run} onClick={() => onWindow(null)}>
        All
      </button>
      <button type="button" onClick={onPicture}>
        PNG
      </button>
    </span>
  );
}
