// folding.mjs - C++ names are folded to their main part: no template arguments, no parameters; operators keep their
// symbols; texts that are cut to the available room stay distinct
import assert from "node:assert/strict";
import { moduleOf } from "./module.mjs";

const { cutDistinct, foldedName } = await moduleOf("text/names.ts");

const FOLDED = {
  "std::vector<int, std::allocator<int> >::push_back(int&&)": "std::vector<…>::push_back",
  "std::unordered_map<int, int>::operator[](std::string const&)": "std::unordered_map<…>::operator[]",
  "A<int>::operator<(A const&)": "A<…>::operator<",
  "A::operator()(int) const": "A::operator() const",
  "A::operator->()": "A::operator->",
  "operator==(A const&, A const&)": "operator==",
  "operator new(unsigned long)": "operator new",
  "B::operator std::vector<int>()": "B::operator std::vector<…>",
  "f(": "f(",
  "(lambda)": "(lambda)",
  plain_c: "plain_c",
};
const CUT_ARGUMENTS = `std::map<${"std::map<int, ".repeat(100)}`; // as a recording stores a name that is too long
Object.assign(FOLDED, {
  [`fill<${CUT_ARGUMENTS}`]: "fill<…",
  [`fill(${CUT_ARGUMENTS}`]: "fill(…",
  [`fill<${"std::basic_string<char>, ".repeat(50)}`]: "fill<…",
  [`app::Cmp<int>::operator()(${CUT_ARGUMENTS}`]: "app::Cmp<…>::operator()(…",
  [`std::operator<< <${CUT_ARGUMENTS}`]: "std::operator<< <std::map<…",
});
for (const [name, folded] of Object.entries(FOLDED)) assert.equal(foldedName(name), folded);

// Texts that are too long lose their middle if they stay distinct; else they are cut around the first difference.
const long = (middle, end) => `${"begin ".repeat(10)}${middle}${" end".repeat(10)}${end}`;
const MOST = 40;
const [ends, beginnings] = [[long("", "1"), long("", "2")], [long("alpha", ""), long("omega", ""), "short"]];
for (const texts of [ends, beginnings, [long("a", ""), long("a", "")]]) {
  const cut = cutDistinct(texts, MOST);
  assert.ok(cut.every((text) => text.length <= MOST), cut.join("; "));
  assert.equal(new Set(cut).size, new Set(texts).size, cut.join("; "));
}
