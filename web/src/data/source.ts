// source.ts - where documents come from: the page embeds one, or a server sends them (live.ts)
import type { DiffDocument, PageDocument } from "./document";

export type Content = PageDocument | DiffDocument;

/** Provides the newest document, and calls back for each newer one. */
export interface DataSource {
  document(): Content;
  /** Returns a function that ends the calls. */
  onChange(changed: () => void): () => void;
}

const ELEMENT = "heapwright-data";
const SCHEMAS: readonly unknown[] = ["heapwright-page/1", "heapwright-page-diff/1"];

/** Returns what was read as a document, or throws an error that names its schema. */
export function checked(read: unknown): Content {
  const { schema } = read as { schema?: unknown };
  if (!SCHEMAS.includes(schema))
    throw new Error(`The data in this page have the schema ${String(schema)}; the page reads ${SCHEMAS.join(" and ")}.`);
  return read as Content;
}

/** The document inside the page: there is one, which never changes. */
export class EmbeddedDocument implements DataSource {
  readonly #document: Content;

  constructor(page: Document) {
    const element = page.getElementById(ELEMENT);
    if (element === null)
      throw new Error("This page has no recording in it. Write one with: heapwright report -o run.html TRACE");
    this.#document = checked(JSON.parse(element.textContent));
  }

  document(): Content {
    return this.#document;
  }

  onChange(): () => void {
    return () => undefined;
  }
}
