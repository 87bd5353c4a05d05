// names.ts - C++ names without their template arguments and parameters: what a box or a line has room for

/** Symbols of operators are no brackets. */
const OPERATOR = /operator\s*(?:<=>|<<=|>>=|<<|>>|<=|>=|->\*?|<|>|\(\)|\[\]|[-+*/%^&|~!=,]+)/g;
const STRING = /std::(?:__cxx11::)?basic_string<char(?:, std::char_traits<char>, std::allocator<char> ?)?>/g;

/** Where the bracket that opens at a place is closed; -1: nowhere. */
function closing(text: string, at: number): number {
  let depth = 0;
  for (let i = at; i < text.length; i++) {
    if (text[i] === "<" || text[i] === "(") depth++;
    else if (text[i] === ">" || text[i] === ")") depth--;
    if (depth === 0) return i;
  }
  return -1;
}

/** std::vector<…>::emplace_back<…>; a name that is not C++'s stays as it is */
export function foldedName(name: string): string {
  if (!/[<(]/.test(name) || name.length > 20_000) return name;
  const operators: string[] = [];
  const plain = name.replace(STRING, "std::string").replace(OPERATOR, (symbol) => `operator\u0001${operators.push(symbol) - 1}\u0001`);
  let folded = "";
  for (let i = 0; i < plain.length; i++) {
    const opens = (plain[i] === "<" || plain[i] === "(") && /[\w>\u0001]$/.test(folded);
    const end = opens ? closing(plain, i) : -1;
    if (end < 0) folded += plain[i]!;
    else {
      folded += plain[i] === "<" ? "<…>" : "";
      i = end;
    }
  }
  return folded.replace(/operator\u0001(\d+)\u0001/g, (_all, index: string) => operators[Number(index)] ?? "").trim();
}

/** A function of a number whose answers are kept: names are folded once, however often they are drawn. */
export function kept(make: (key: number) => string): (key: number) => string {
  const made = new Map<number, string>();
  return (key) => {
    let text = made.get(key);
    if (text === undefined) made.set(key, (text = make(key)));
    return text;
  };
}
