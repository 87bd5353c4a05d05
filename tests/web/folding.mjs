// folding.mjs - C++ names are folded to what says most: no template arguments, no parameters; operators keep their symbols
import assert from "node:assert/strict";
import { moduleOf } from "./module.mjs";

const { foldedName } = await moduleOf("text/names.ts");

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
for (const [name, folded] of Object.entries(FOLDED)) assert.equal(foldedName(name), folded);
