// names.ts - shortens C++ names: without template arguments and parameters, to fit a box or a line

/** The symbols of operators are not brackets. */
const OPERATOR = /operator\s*(?:<=>|<<=|>>=|<<|>>|<=|>=|->\*?|<|>|\(\)|\[\]|[-+*/%^&|~!=,]+)/g;
const CUT_FROM = 1000; // characters; shorter names are not cut
const STRING = /std::(?:__cxx11::)?basic_string<char(?:, std::char_traits<char>, std::allocator<char> ?)?>/g;

/** The index of the bracket that closes the one at `at`, or -1. */
function closing(text: string, at: number): number {
  let depth = 0;
  for (let i = at; i < text.length; i++) {
    if (text[i] === "<" || text[i] === "(") depth++;
    else if (text[i] === ">" || text[i] === ")") depth--;
    if (depth === 0) return i;
  }
  return -1;
}

/** std::vector<…>::emplace_back<…>; a name that is not from C++ is unchanged */
export function foldedName(name: string): string {
  if (!/[<(]/.test(name) || name.length > 100_000) return name;
  const operators: string[] = [];
  const numbered = (symbol: string): string => `operator\u0001${operators.push(symbol) - 1}\u0001`;
  const plain = name.replace(STRING, "std::string").replace(OPERATOR, numbered);
  let folded = "";
  for (let i = 0; i < plain.length; i++) {
    const opens = (plain[i] === "<" || plain[i] === "(") && /[\w>\u0001]$/.test(folded);
    const end = opens ? closing(plain, i) : -1;
    if (opens && end < 0 && name.length > CUT_FROM) {
      folded += `${plain[i]}…`; // a name that was cut within its arguments
      break;
    }
    if (end < 0) folded += plain[i]!;
    else {
      folded += plain[i] === "<" ? "<…>" : "";
      i = end;
    }
  }
  return folded.replace(/operator\u0001(\d+)\u0001/g, (_all, index: string) => operators[Number(index)] ?? "").trim();
}

/** The beginning and the end, if the whole text is too long. */
export function middleCut(text: string, most: number): string {
  if (text.length <= most) return text;
  const tail = Math.floor((most - 1) * 0.45);
  return `${text.slice(0, most - 1 - tail)}…${text.slice(text.length - tail)}`;
}

/** The beginning, and as much as fits from a little before `at`. */
function cutAround(text: string, at: number, most: number): string {
  const [head, before] = [Math.floor(most / 4), 4];
  const from = Math.max(head, at - before);
  const rest = text.slice(from, from + most - head - 2);
  return `${text.slice(0, head)}…${rest}${from + rest.length < text.length ? "…" : ""}`;
}

/** How many characters two texts have in common at their beginning. */
export function commonLength(a: string, b: string): number {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length++;
  return length;
}

/**
 * Texts cut to `most` characters: without their middle or, if two would then be equal, with the part where they
 * differ.
 */
export function cutDistinct(texts: readonly string[], most: number): string[] {
  const cut = texts.map((text) => middleCut(text, most));
  return texts.map((text, i) => {
    const twins = texts.filter((other, k) => cut[k] === cut[i] && other !== text);
    return twins.length === 0 ? cut[i]! : cutAround(text, Math.max(...twins.map((twin) => commonLength(text, twin))), most);
  });
}

/** A function of a number with cached results: each name is folded only once, however often it is drawn. */
export function cached(make: (key: number) => string): (key: number) => string {
  const made = new Map<number, string>();
  return (key) => {
    let text = made.get(key);
    if (text === undefined) made.set(key, (text = make(key)));
    return text;
  };
}
