// find.tsx - a field for a pattern of names, and what it matches
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";

/** What a pattern can be about; "module=lib*" says which, as --only does. */
const KINDS = ["func", "module", "file"] as const;
type Kind = (typeof KINDS)[number];
export const NAMES_ALONE: readonly Kind[] = ["func"];

export interface Search {
  readonly of: Kind;
  /** null: no pattern, or one that is not understood */
  readonly matches: ((name: string) => boolean) | null;
  readonly wrong: string;
}

/** What a pattern asks for, with a kind before it or without. A name with `*` and `?` where they stand for anything, or /a regular expression/. Letters match in both cases. */
export function searchOf(asked: string, kinds: readonly Kind[] = KINDS): Search {
  const of = kinds.find((kind) => asked.startsWith(`${kind}=`));
  const pattern = of === undefined ? asked : asked.slice(of.length + 1);
  return { of: of ?? "func", ...matcherOf(pattern) };
}

function matcherOf(pattern: string): Pick<Search, "matches" | "wrong"> {
  if (pattern === "") return { matches: null, wrong: "" };
  const asRegex = /^\/(.+)\/$/.exec(pattern);
  const words = pattern.replace(/[.+^${}()|[\]\\]/g, "\\$&").replaceAll("*", ".*").replaceAll("?", ".");
  try {
    const regex = new RegExp(asRegex ? asRegex[1]! : words, "isu");
    return { matches: (name) => regex.test(name), wrong: "" };
  } catch (error) {
    return { matches: null, wrong: error instanceof Error ? error.message : String(error) };
  }
}

export function useSearch(pattern: string, kinds: readonly Kind[] = KINDS): Search {
  return useMemo(() => searchOf(pattern, kinds), [pattern, kinds]);
}

interface Props {
  readonly pattern: string;
  readonly onPattern: (pattern: string) => void;
  readonly result: string;
  readonly kinds?: readonly Kind[];
}

export function Find({ pattern, onPattern, result, kinds = KINDS }: Props): JSX.Element {
  const { wrong } = useSearch(pattern, kinds);
  return (
    <label class="find">
      <input
        type="search"
        value={pattern}
        placeholder={kinds === KINDS ? "Find na*me, /regex/, module=lib*" : "Find a name, na*me or /regex/"}
        title={`A function's name or a part of it, with * and ?, or /a regular expression/${kinds === KINDS ? "; module= or file= before it for these" : ""}`}
        aria-label="Find names"
        spellcheck={false}
        onInput={(event) => onPattern(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") onPattern("");
          if (event.key === "Escape" || event.key === "Enter") event.currentTarget.blur();
        }}
      />
      <span class={wrong === "" ? "faint" : "wrong"}>{wrong === "" ? result : wrong}</span>
    </label>
  );
}
