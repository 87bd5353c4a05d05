// pair_card.tsx - the cost of a frame of a difference in both runs
import type { JSX } from "preact";
import type { Pair } from "../data/difference";
import type { Cost } from "../state";
import { shareText } from "../text/format";
import { costFigure } from "../views/node_names";
import { changeText } from "./view";

export function PairCard({ name, pair, at, cost }: { name: string; pair: Pair; at: number; cost: Cost }): JSX.Element {
  const [old, now] = [pair.old[at]!, pair.now[at]!];
  const words = (amount: number): string => costFigure(cost, amount);
  return (
    <>
      <div class="function">{name}</div>
      <dl>
        <dt>Old</dt>
        <dd>{words(old)}</dd>
        <dt>New</dt>
        <dd>{words(now)}</dd>
        <dt>Change</dt>
        <dd>
          {changeText(now - old, words) || "none"}{" "}
          <span class="faint">{old > 0 && now !== old ? shareText(Math.abs(now - old), old) : ""}</span>
        </dd>
      </dl>
    </>
  );
}
