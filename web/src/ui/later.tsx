// later.tsx - draws its content one frame after the rest of the view, so that the view appears at once
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";

let hasDrawn = false; // the very first view is drawn completely, without delay

interface Props {
  /** a placeholder until then */
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
