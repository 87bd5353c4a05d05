// pair_card.tsx - the cost of a frame of a difference in both runs
import type { JSX } from "preact";
import type { Pair } from "../data/difference";
import type { Cost } from "../state";
import { errorText, shareText } from "../text/format";
import { costFigure, kindOf } from "../views/node_names";
import { changeText, type PairErrors } from "./view";

interface Props {
  readonly name: string;
  readonly pair: Pair;
  readonly errors: PairErrors;
  readonly at: number;
  readonly cost: Cost;
}

export function PairCard({ name, pair, errors, at, cost }: Props): JSX.Element {
  const [old, now] = [pair.old[at]!, pair.now[at]!];
  const words = (amount: number): string => costFigure(cost, amount);
  return (
    <>
      <div class="function">{name}</div>
      <dl>
        <dt>Old</dt>
        <dd>{costFigure(cost, old, errors.old)}</dd>
        <dt>New</dt>
        <dd>{costFigure(cost, now, errors.now)}</dd>
        <dt>Change</dt>
        <dd>
          {changeText(now - old, words) || "none"} {errorText(kindOf(cost), now - old, errors.change)}{" "}
          <span class="faint">{old > 0 && now !== old ? shareText(Math.abs(now - old), old) : ""}</span>
        </dd>
      </dl>
    </>
  );
}
