// view.ts - what every view gets
import type { Recording } from "../data/recording";
import type { State } from "../state";
import type { Change } from "../ui/location";
import type { Palette } from "../ui/palette";

export interface ViewProps {
  readonly recording: Recording;
  readonly state: State;
  readonly change: Change;
  readonly palette: Palette;
}
