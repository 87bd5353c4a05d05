// main.tsx - starts the page on the document that is embedded in it
import { render } from "preact";
import { App, Failure } from "./app";
import { EmbeddedDocument } from "./data/source";
import "uplot/dist/uPlot.min.css";
import "./style.css";

const root = document.getElementById("page")!;
try {
  render(<App source={new EmbeddedDocument(document)} />, root);
} catch (error) {
  render(<Failure what={error instanceof Error ? error.message : String(error)} />, root);
}
