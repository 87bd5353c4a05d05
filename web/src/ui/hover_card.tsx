// hover_card.tsx - a card next to the pointer, on the side that has more space
import type { ComponentChildren, JSX } from "preact";

/** A position in the window. */
export interface Pointed {
  readonly x: number;
  readonly y: number;
}

export function HoverCard({ at, children }: { readonly at: Pointed; readonly children: ComponentChildren }): JSX.Element {
  const rightHalf = at.x > innerWidth / 2;
  const lowerHalf = at.y > innerHeight / 2;
  const style = {
    ...(rightHalf ? { right: `${innerWidth - at.x + 12}px` } : { left: `${at.x + 12}px` }),
    ...(lowerHalf ? { bottom: `${innerHeight - at.y + 12}px` } : { top: `${at.y + 16}px` }),
  };
  return (
    <div class="hover" style={style}>
      {children}
    </div>
  );
}
