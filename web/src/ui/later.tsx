// later.tsx - what is drawn a frame after the rest of its view, so that a view that was asked for is there at once
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";

let hasDrawn = false; // the first view of all is drawn whole: nothing has been waiting for it to appear

interface Props {
  /** what keeps the room until then */
  readonly room: JSX.Element;
  readonly children: ComponentChildren;
}

export function Later({ room, children }: Props): JSX.Element {
  const [isDue, setDue] = useState(!hasDrawn);
  useEffect(() => {
    hasDrawn = true;
    let timer = 0;
    const frame = requestAnimationFrame(() => (timer = setTimeout(() => setDue(true))));
    return () => {
      cancelAnimationFrame(frame);
      clearTimeout(timer);
    };
  }, []);
  return <>{isDue ? children : room}</>;
}
