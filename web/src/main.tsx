// main.tsx - starts the page on the document that is embedded in it, or on those of its server
import { render } from "preact";
import { App, Failure } from "./app";
import { LiveDocuments } from "./data/live";
import { EmbeddedDocument } from "./data/source";
import { parseFragment } from "./state";
import { prepareNext } from "./views/prepare";
import "uplot/dist/uPlot.min.css";
import "./style.css";

const root = document.getElementById("page")!;

function fail(error: unknown): void {
  render(<Failure what={error instanceof Error ? error.message : String(error)} />, root);
}

try {
  const live = LiveDocuments.of(document);
  if (live === null) {
    render(<App source={new EmbeddedDocument(document)} live={null} />, root);
  } else {
    live.prepare = (content) => prepareNext(content, parseFragment(location.hash).view);
    live.begin().then(() => render(<App source={live} live={live} />, root), fail);
  }
} catch (error) {
  fail(error);
}
