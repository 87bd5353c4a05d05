// view.ts - what every view gets
import type { PageDocument } from "../data/document";
import type { Recording } from "../data/recording";
import type { State } from "../state";
import type { Change } from "../ui/location";
import type { Palette } from "../ui/palette";

export interface ViewProps {
  readonly recording: Recording;
  /** what the page opens with, which holds the other processes that it can be turned to */
  readonly opened: PageDocument;
  readonly state: State;
  readonly change: Change;
  readonly palette: Palette;
}
