// finding.tsx - the fields for searched and for ignored stacks
import type { JSX } from "preact";
import type { State } from "../state";
import type { Change } from "../ui/location";
import { Find } from "../ui/find";

export function Finding({ state, change, result }: { state: State; change: Change; result: string }): JSX.Element {
  return (
    <>
      <Find pattern={state.find} onPattern={(find) => change({ find })} result={result} />
      <Find kind="ignore" pattern={state.ignore} onPattern={(ignore) => change({ ignore })} result="" />
    </>
  );
}
