// crumbs.tsx - the path from the whole run to the frame that fills a flame graph
import type { JSX } from "preact";
import type { Branches } from "../data/branching";

const SHOWN = 5; // of a longer path, both ends are shown

interface Props {
  readonly tree: Branches;
  readonly label: (node: number) => string;
  readonly zoom: number;
  readonly onZoom: (node: number) => void;
}

export function Crumbs({ tree, label, zoom, onZoom }: Props): JSX.Element {
  const path: number[] = [];
  for (let node = zoom < tree.parent.length ? zoom : 0; node >= 0; node = tree.parent[node]!) path.unshift(node);
  const shown = path.length > SHOWN ? [path[0]!, -1, ...path.slice(-3)] : path;
  return (
    <div class="crumbs" aria-label="Zoom">
      {shown.map((node, i) =>
        node < 0 ? (
          <span key="gap">›&nbsp;…</span>
        ) : (
          <>
            {i > 0 && <span>›</span>}
            <button key={node} type="button" onClick={() => onZoom(node)}>
              {label(node)}
            </button>
          </>
        ),
      )}
    </div>
  );
}
