// live.ts - documents of a running program, which its server sends one after another
import { checked, type Content, type DataSource } from "./source";

const ELEMENT = "heapwright-live";

/** How the connection to the server is: "over" if the program has ended, "lost" if there is no document: see `trouble`. */
export type LiveState = "running" | "over" | "lost";

const RETRY_MS = 1000;
const NOT_FOUND = 404;
const SAME_START_NS = 1e9; // clocks are compared once for each process
const AFTER_END_MS = 5000; // a process of the run may still begin

/** The intervals to choose from, in ms. */
export const INTERVALS = [100, 200, 500, 1000, 2000, 5000, 10000] as const;
export const USUAL_MS = 1000;

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** What the viewer may tell the recording. */
export type Order = "on" | "off" | "mark";

/** When a run began, since 1970. */
function startOf(content: Content): number {
  if (content.schema !== "heapwright-page/1") return 0;
  const { start_realtime_ns: start, from_ns: from } = content.process;
  return (start ?? 0) - (from ?? 0);
}

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
  #wake: () => void = () => undefined; // ends the time until the next document
  #isHurried = false;
  #request = new AbortController();
  #runs = 0;
  #startNs = 0;
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

  /** The process that documents are about; 0: all of the run. */
  get process(): number {
    return this.#process;
  }

  /** From now on, documents are about one process alone; 0: all of them. */
  choose(process: number): void {
    if (process === this.#process) return;
    [this.#process, this.#number] = [process, 0];
    this.#request.abort();
    this.#askSoon();
  }

  /** How many runs were shown: a new one may come to the same address. */
  get runs(): number {
    return this.#runs;
  }

  pause(isPaused: boolean): void {
    this.#isPaused = isPaused;
    if (!isPaused) this.#wake();
    this.#changed();
  }

  /** The figures can be counted from now on. Returns this moment, since the run's start. */
  async cut(): Promise<number> {
    const { ns } = (await (await this.#post("/now")).json()) as { ns: number };
    this.#askSoon();
    return ns;
  }

  /** Saves the recording up to now next to it. Returns its path. */
  async save(): Promise<string> {
    return ((await (await this.#post("/save")).json()) as { path: string }).path;
  }

  async order(order: Order, text = ""): Promise<void> {
    await this.#post(`/${order}`, text === "" ? "" : `&text=${encodeURIComponent(text)}`);
    this.#askSoon();
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

  /** Asks for the next document without waiting, once if it is paused. */
  #askSoon(): void {
    this.#isHurried = true;
    this.#wake();
  }

  async #take(): Promise<void> {
    const process = this.#process;
    this.#request = new AbortController();
    const answer = await fetch(`${this.address("/document")}&after=${this.#number}`, { signal: this.#request.signal });
    if (answer.status === NOT_FOUND && process !== 0) {
      this.choose(0); // of an earlier run
      return;
    }
    if (!answer.ok) throw new Error((await answer.text()).trim());
    const next = checked(await answer.json());
    await this.prepare(next);
    if (process !== this.#process || (this.#isPaused && !this.#isHurried)) return; // the viewer chose otherwise meanwhile
    this.#isHurried = false;
    this.#document = next;
    if (process === 0) this.#takeWhole(next);
    this.#number = Number(answer.headers.get("Heapwright-Number"));
    this.#state = answer.headers.get("Heapwright-State") === "over" ? "over" : "running";
    this.behindMs = Number(answer.headers.get("Heapwright-Behind-Ms"));
  }

  #takeWhole(next: Content): void {
    this.#whole = next;
    const startNs = startOf(next);
    this.#runs += Number(Math.abs(startNs - this.#startNs) > SAME_START_NS);
    this.#startNs = startNs;
  }

  /** Waits until a document is wanted. */
  async #wanted(): Promise<void> {
    const ms = this.#state === "lost" ? RETRY_MS : this.#state === "over" ? AFTER_END_MS : this.intervalMs;
    const woken = (): Promise<void> => new Promise((resolve) => (this.#wake = resolve));
    if (!this.#isHurried) await Promise.race([wait(ms), woken()]);
    while (this.#isPaused && !this.#isHurried) await woken();
    if (document.hidden) await shown();
  }

  async #follow(): Promise<void> {
    for (;;) {
      await this.#wanted();
      const before = this.#state;
      try {
        await this.#take();
      } catch (error) {
        if (this.#request.signal.aborted) continue;
        this.#isHurried = false;
        this.#state = "lost";
        this.trouble = error instanceof TypeError ? "no answer: is heapwright live still running?" : (error as Error).message;
      }
      if (this.#state !== "lost" || before !== "lost") this.#changed();
    }
  }
}
