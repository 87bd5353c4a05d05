// live.ts - documents of a running program, which its server sends one after another
import { checked, type Content, type DataSource } from "./source";

const ELEMENT = "heapwright-live";

/** How the connection to the server is: "over" if the program has ended, "lost" if there is no document: see `trouble`. */
export type LiveState = "running" | "over" | "lost";

const RETRY_MS = 1000;
const AFTER_END_MS = 5000; // a process of the run may still begin

/** The intervals to choose from, in ms. */
export const INTERVALS = [100, 200, 500, 1000, 2000, 5000, 10000] as const;
export const USUAL_MS = 1000;

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** What the viewer may tell the recording. */
export type Order = "on" | "off" | "mark";

/** Waits until the page is in front again. */
function shown(): Promise<void> {
  return new Promise((resolve) => document.addEventListener("visibilitychange", () => resolve(), { once: true }));
}

/** Asks for the next document when the last one was shown for the interval, so that the viewer sets the pace. */
export class LiveDocuments implements DataSource {
  readonly #token: string;
  #document: Content | undefined;
  #whole: Content | undefined;
  #process = 0;
  #number = 0;
  #changed: () => void = () => undefined;
  #resume: () => void = () => undefined;
  #hurry: () => void = () => undefined; // ends the time until the next document
  #state: LiveState = "running";
  #isPaused = false;
  /** what is done with each document before it is shown */
  prepare: (document: Content) => Promise<void> = () => Promise.resolve();
  /** why there is no new document */
  trouble = "";
  intervalMs: number = USUAL_MS;

  constructor(token: string) {
    this.#token = token;
  }

  get state(): LiveState {
    return this.#state;
  }

  /** How old the figures of the document were when it was made; about 200 ms are usual. */
  behindMs = 0;

  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** The page of a server has its token in an element; other pages have none. */
  static of(page: Document): LiveDocuments | null {
    const element = page.getElementById(ELEMENT);
    return element === null ? null : new LiveDocuments((JSON.parse(element.textContent) as { token: string }).token);
  }

  /** The address at which the server has the present state as a file. */
  address(path: string): string {
    return `${path}?token=${this.#token}${this.#process === 0 ? "" : `&pid=${this.#process}`}`;
  }

  /** The newest document of the whole run. */
  get whole(): Content {
    return this.#whole ?? this.document();
  }

  /** From now on, documents are about one process alone; 0: all of them. */
  choose(process: number): void {
    if (process === this.#process) return;
    [this.#process, this.#number] = [process, 0];
    this.#hurry();
  }

  pause(isPaused: boolean): void {
    this.#isPaused = isPaused;
    if (!isPaused) this.#resume();
    this.#changed();
  }

  /** The figures can be counted from now on. Returns this moment, since the run's start. */
  async cut(): Promise<number> {
    const { ns } = (await (await this.#post("/now")).json()) as { ns: number };
    this.#hurry();
    return ns;
  }

  /** Saves the recording up to now next to it. Returns its path. */
  async save(): Promise<string> {
    return ((await (await this.#post("/save")).json()) as { path: string }).path;
  }

  async order(order: Order, text = ""): Promise<void> {
    await this.#post(`/${order}`, text === "" ? "" : `&text=${encodeURIComponent(text)}`);
    this.#hurry();
  }

  async #post(path: string, more = ""): Promise<Response> {
    const answer = await fetch(this.address(path) + more, { method: "POST" });
    if (!answer.ok) throw new Error((await answer.text()).trim());
    return answer;
  }

  document(): Content {
    if (this.#document === undefined) throw new Error("The first document has not come yet.");
    return this.#document;
  }

  onChange(changed: () => void): () => void {
    this.#changed = changed;
    return () => {
      this.#changed = () => undefined;
    };
  }

  /** Takes the first document, and from then on all others. */
  async begin(): Promise<void> {
    await this.#take();
    void this.#follow();
  }

  async #take(): Promise<void> {
    const process = this.#process;
    const answer = await fetch(`${this.address("/document")}&after=${this.#number}`);
    if (!answer.ok) throw new Error((await answer.text()).trim());
    const next = checked(await answer.json());
    await this.prepare(next);
    if (process !== this.#process) return; // another one was chosen meanwhile
    this.#document = next;
    if (process === 0) this.#whole = next;
    this.#number = Number(answer.headers.get("Heapwright-Number"));
    this.#state = answer.headers.get("Heapwright-State") === "over" ? "over" : "running";
    this.behindMs = Number(answer.headers.get("Heapwright-Behind-Ms"));
  }

  async #follow(): Promise<void> {
    for (;;) {
      const ms = this.#state === "lost" ? RETRY_MS : this.#state === "over" ? AFTER_END_MS : this.intervalMs;
      await Promise.race([wait(ms), new Promise<void>((resolve) => (this.#hurry = resolve))]);
      if (document.hidden) await shown();
      if (this.#isPaused) await new Promise<void>((resolve) => (this.#resume = resolve));
      const before = this.#state;
      try {
        await this.#take();
      } catch (error) {
        this.#state = "lost";
        this.trouble = error instanceof TypeError ? "no answer: is heapwright live still running?" : (error as Error).message;
      }
      if (this.#state !== "lost" || before !== "lost") this.#changed();
    }
  }
}
