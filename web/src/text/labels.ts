// labels.ts - functions as tables and graphs call them: names folded once, and the words that tell apart those that read the same
import { finish } from "../data/kept";
import { baseName } from "../data/tree";
import { foldedName, middleCut } from "./names";

const APART_MOST = 60; // characters

interface Named {
  readonly name: string;
  readonly file: string;
}

function commonStart(a: string, b: string): number {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length++;
  return length;
}

function commonEnd(a: string, b: string): number {
  let length = 0;
  while (length < a.length && a.at(-1 - length) === b.at(-1 - length)) length++;
  return length;
}

/** What a name has that others have not, in whole words. */
function ownPart(name: string, others: readonly string[]): string {
  let from = Math.min(...others.map((other) => commonStart(name, other)));
  let to = Math.max(from, name.length - Math.min(...others.map((other) => commonEnd(name, other))));
  while (from > 0 && /\w/.test(name[from - 1]!)) from--;
  while (to < name.length && /\w/.test(name[to]!)) to++;
  return middleCut(name.slice(from, to), APART_MOST);
}

export class Labels {
  readonly #functions: readonly Named[];
  readonly #moduleOf: (func: number) => string;
  readonly #labels: (string | undefined)[];
  readonly #numbers = new Map<string, number>(); // by label
  readonly #bearers: number[][] = []; // by label's number: functions
  readonly #numberOf: Int32Array; // by function; -1: not asked for yet

  constructor(functions: readonly Named[], moduleOf: (func: number) => string) {
    this.#functions = functions;
    this.#moduleOf = moduleOf;
    this.#labels = new Array<string | undefined>(functions.length);
    this.#numberOf = new Int32Array(functions.length).fill(-1);
  }

  /** The name without its arguments; `func` is one of the functions. */
  label(func: number): string {
    return (this.#labels[func] ??= foldedName(this.#functions[func]!.name));
  }

  /** The same for functions whose labels are. */
  number(func: number): number {
    if (this.#numberOf[func]! >= 0) return this.#numberOf[func]!;
    const label = this.label(func);
    let number = this.#numbers.get(label);
    if (number === undefined) this.#numbers.set(label, (number = this.#bearers.push([]) - 1));
    this.#bearers[number]!.push(func);
    return (this.#numberOf[func] = number);
  }

  /** Numbers all functions, a piece with each step; what was done before is not done again. */
  *numbered(): Generator<void> {
    for (let func = 0; func < this.#functions.length; func++) {
      if (this.#numberOf[func]! >= 0) continue;
      this.number(func);
      yield;
    }
  }

  /** What tells a function from others with its label: a part of its whole name, its file, or its module. "": there are none, or nothing does. */
  apart(func: number): string {
    if (this.#functions[func] === undefined) return "";
    finish(this.numbered());
    const twins = this.#bearers[this.number(func)]!.filter((other) => other !== func);
    if (twins.length === 0) return "";
    const { name, file } = this.#functions[func];
    const namedApart = twins.map((twin) => this.#functions[twin]!.name).filter((other) => other !== name);
    const part = namedApart.length > 0 ? ownPart(name, namedApart) : "";
    const namesakes = twins.filter((twin) => this.#functions[twin]!.name === name);
    const place = namesakes.length === 0 ? "" : namesakes.some((twin) => this.#functions[twin]!.file === file) ? this.#moduleOf(func) : baseName(file);
    return [part, place].filter((words) => words !== "").join(" · ");
  }
}
