// view.ts - the properties that every view gets
import type { PageDocument } from "../data/document";
import type { Recording } from "../data/recording";
import type { State } from "../state";
import type { Change } from "../ui/location";
import type { Palette } from "../ui/palette";

export interface ViewProps {
  readonly recording: Recording;
  /** the document that the page opens with, which contains the other processes that can be shown */
  readonly opened: PageDocument;
  /** whether the program may still be running, and documents follow */
  readonly isLive: boolean;
  /** whether what the document shows goes on */
  readonly isRunning: boolean;
  readonly state: State;
  readonly change: Change;
  readonly palette: Palette;
}
