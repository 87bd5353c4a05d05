// find.tsx - fields for name patterns, and matching by them
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";

/** What a pattern is matched against; "module=lib*" selects it, as in --only. */
const KINDS = ["func", "module", "file"] as const;
type Kind = (typeof KINDS)[number];
export interface Search {
  readonly of: Kind;
  /** null: no pattern, or an invalid one */
  readonly matches: ((name: string) => boolean) | null;
  readonly wrong: string;
}

/**
 * Parses a pattern, with or without a kind before it: a name with the wildcards `*` and `?`, or /a regular expression/.
 * Upper and lower case are equal.
 */
export function searchOf(asked: string): Search {
  const of = KINDS.find((kind) => asked.startsWith(`${kind}=`));
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

export function useSearch(pattern: string): Search {
  return useMemo(() => searchOf(pattern), [pattern]);
}

const FIELDS = {
  find: { label: "Find names", placeholder: "Find na*me or file=*.c", what: "" },
  scope: { label: "Find scopes", placeholder: "Find sc*pe", what: "" },
  ignore: { label: "Ignore names", placeholder: "Ignore", what: "Leaves out stacks that pass through: " },
};

const SCOPE_PATTERNS = "a scope or a path, or a part of it, with * and ?, or /a regular expression/";
const PATTERNS = "a function's name or a part of it, with * and ?, or /a regular expression/; module= or file= before it for these";

interface Props {
  readonly kind?: keyof typeof FIELDS;
  readonly pattern: string;
  readonly onPattern: (pattern: string) => void;
  readonly result: string;
}

export function Find({ kind = "find", pattern, onPattern, result }: Props): JSX.Element {
  const { wrong } = useSearch(pattern);
  const { label, placeholder, what } = FIELDS[kind];
  return (
    <label class={kind === "ignore" ? "ignore" : "find"}>
      <input
        type="search"
        value={pattern}
        placeholder={placeholder}
        title={kind === "scope" ? SCOPE_PATTERNS : `${what}${PATTERNS}`}
        aria-label={label}
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
