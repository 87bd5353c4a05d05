// labels.ts - short names of functions for tables and graphs, and texts that distinguish functions with the same short name
import { commonLength, foldedName, middleCut } from "../text/names";
import { finish } from "./cached";
import { baseName } from "./tree";

const APART_MOST = 60; // characters

interface Named {
  readonly name: string;
  readonly file: string;
}

export function countsOf(texts: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return counts;
}

function reversed(text: string): string {
  return text.split("").reverse().join("");
}

/** The first and the last in order: any text has its shortest common beginning with one of these two. */
function outermost(texts: readonly string[]): string[] {
  const sorted = [...texts].sort();
  return [sorted[0]!, sorted.at(-1)!];
}

/** The part of each name that the other names do not have, in whole words. */
function ownParts(names: readonly string[]): Map<string, string> {
  const [starts, ends] = [outermost(names), outermost(names.map(reversed))];
  const least = (text: string, others: readonly string[]): number =>
    Math.min(...others.filter((other) => other !== text).map((other) => commonLength(text, other)));
  return new Map(
    names.map((name) => {
      let from = least(name, starts);
      let to = Math.max(from, name.length - least(reversed(name), ends));
      while (from > 0 && /\w/.test(name[from - 1]!)) from--;
      while (to < name.length && /\w/.test(name[to]!)) to++;
      return [name, middleCut(name.slice(from, to), APART_MOST)];
    }),
  );
}

function placeOf({ name, file }: Named): string {
  return `${name}\n${file}`;
}

export class Labels {
  readonly #functions: readonly Named[];
  readonly #moduleOf: (func: number) => string;
  readonly #labels: (string | undefined)[];
  readonly #numbers = new Map<string, number>(); // by label
  readonly #bearers: number[][] = []; // by label's number: functions
  readonly #numberOf: Int32Array; // by function; -1: not computed yet
  #numbered = 0; // number of functions so far
  readonly #distinction = new Map<number, string>(); // by function

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

  /** The ID of the label: the same for functions with the same label. */
  number(func: number): number {
    if (this.#numberOf[func]! >= 0) return this.#numberOf[func]!;
    const label = this.label(func);
    let number = this.#numbers.get(label);
    if (number === undefined) this.#numbers.set(label, (number = this.#bearers.push([]) - 1));
    this.#bearers[number]!.push(func);
    return (this.#numberOf[func] = number);
  }

  /** Numbers all functions, some with each step; finished steps are not repeated. */
  *numbered(): Generator<void> {
    while (this.#numbered < this.#functions.length) {
      this.number(this.#numbered++);
      yield;
    }
  }

  /**
   * The text that distinguishes a function from others with its label: a part of its full name, its file or its module.
   * "": there are no others, or there is no difference.
   */
  distinction(func: number): string {
    if (this.#functions[func] === undefined) return "";
    finish(this.numbered());
    const bearers = this.#bearers[this.number(func)]!;
    if (bearers.length > 1 && !this.#distinction.has(func)) this.#distinguish(bearers);
    return this.#distinction.get(func) ?? "";
  }

  /** Computes the distinguishing text of each of some functions with the same label. */
  #distinguish(funcs: readonly number[]): void {
    const named = funcs.map((func) => this.#functions[func]!);
    const [ofName, ofPlace] = [countsOf(named.map(({ name }) => name)), countsOf(named.map(placeOf))];
    const parts = ofName.size > 1 ? ownParts([...ofName.keys()]) : new Map<string, string>();
    named.forEach((own, i) => {
      const file = ofPlace.get(placeOf(own)) === 1 ? baseName(own.file) : this.#moduleOf(funcs[i]!);
      const place = ofName.get(own.name) === 1 ? "" : file;
      this.#distinction.set(funcs[i]!, [parts.get(own.name) ?? "", place].filter((words) => words !== "").join(" · "));
    });
  }
}
