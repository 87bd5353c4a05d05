/* types_of_containers.cc - makes containers of the C++ library, prints how many blocks each has, and waits: see types.c */
#include <cstdio>
#include <cstring>
#include <deque>
#include <forward_list>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unistd.h>
#include <unordered_map>
#include <vector>

namespace shop {
struct Item {
  virtual ~Item() = default;
  std::string name;
};
struct Book : Item {
  std::vector<int> pages;
};
struct Plain {
  std::string text;
  long number = 0;
  Plain *peer = nullptr;
};
struct Node {
  std::vector<Node> children;
  std::unique_ptr<long[]> numbers;
};
struct Hidden;

std::map<int, std::string> names;
std::unordered_map<std::string, Plain> table;
std::list<Plain> list;
std::forward_list<long> forward;
std::deque<Plain> deque;
std::set<std::string> set;
std::vector<std::shared_ptr<Plain>> shared;
std::vector<std::unique_ptr<Item>> items;
std::vector<std::unique_ptr<Plain>> plains;
std::map<std::string, std::list<std::vector<Plain>>> nested;
std::optional<Plain> maybe;
Node tree;
Hidden *hidden;
} // namespace shop
namespace {
std::vector<shop::Plain> unnamed;
}
struct shop::Hidden {
  static Plain *plain;
  Plain *own = nullptr;
};
shop::Plain *shop::Hidden::plain;

enum { COUNT = 500 };
static const std::string text(40, 'x'); /* not in the string itself */

static void fill()
{
  using namespace shop;
  for (int i = 0; i < COUNT; i++) {
    const std::string longer = text + std::to_string(i);
    names[i] = longer;
    table[longer] = Plain{longer, i};
    list.push_back({longer, i});
    forward.push_front(i);
    deque.push_back({longer, i});
    set.insert(longer);
    shared.push_back(std::make_shared<Plain>(Plain{longer, i}));
    plains.push_back(std::make_unique<Plain>(Plain{longer, i}));
    auto book = std::make_unique<Book>();
    book->name = longer;
    book->pages.resize(30);
    items.push_back(std::move(book));
    nested[longer].push_back({Plain{longer, i}});
  }
  for (int i = 0; i < 100; i++)
    deque.pop_front();
  maybe = Plain{text};
  tree.children.resize(3);
  for (Node &child : tree.children) {
    child.children.resize(4);
    child.numbers = std::make_unique<long[]>(20);
  }
  hidden = new Hidden{new Plain{text}};
  Hidden::plain = new Plain{text};
  unnamed.resize(7);
}

static void expect(size_t count, const char *label)
{
  std::printf("%zu %s\n", count, label);
}

int main()
{
  setvbuf(stdout, nullptr, _IONBF, 0);
  fill();
  const char string[] = "characters of std::string";
  const std::string of_plain = std::string(string) + "|member text of shop::Plain|variable shop::";
  expect(COUNT, "std::_Rb_tree_node<std::pair<int const, STRING>>|variable shop::names");
  expect(COUNT, "characters of std::string|variable shop::names");
  expect(COUNT, "std::__detail::_Hash_node<std::pair<const STRING, shop::Plain>, true>|variable shop::table");
  expect(COUNT, "characters of std::string|variable shop::table"); /* of keys */
  expect(COUNT, (of_plain + "table").c_str());
  expect(1, "std::__detail::_Hash_node_base *[]|variable shop::table");
  expect(COUNT, "std::_List_node<shop::Plain>|variable shop::list");
  expect(COUNT, (of_plain + "list").c_str());
  expect(COUNT, "std::_Fwd_list_node<long int>|variable shop::forward");
  expect(COUNT - 100, (of_plain + "deque").c_str());
  expect(1, "shop::Plain *[]|variable shop::deque");
  expect(COUNT, "std::_Rb_tree_node<STRING>|variable shop::set");
  expect(COUNT, "characters of std::string|variable shop::set");
  expect(1, "std::shared_ptr<shop::Plain>[]|variable shop::shared");
  expect(
      COUNT,
      "vtable for std::_Sp_counted_ptr_inplace<shop::Plain, void, (__gnu_cxx::_Lock_policy)2>|variable shop::shared");
  expect(COUNT, (of_plain + "shared").c_str());
  expect(1, "std::unique_ptr<shop::Plain>[]|variable shop::plains");
  expect(COUNT, "shop::Plain|variable shop::plains");
  expect(COUNT, (of_plain + "plains").c_str());
  expect(COUNT, "vtable for shop::Book|variable shop::items");
  expect(COUNT, "characters of std::string|member name of shop::Item|variable shop::items");
  expect(COUNT, "int[]|member pages of shop::Book|variable shop::items");
  expect(
      COUNT,
      "std::_Rb_tree_node<std::pair<const STRING, std::__cxx11::list<std::vector<shop::Plain>>>>|variable shop::nested");
  expect(COUNT, "characters of std::string|variable shop::nested"); /* of keys */
  expect(COUNT, "std::_List_node<std::vector<shop::Plain>>|variable shop::nested");
  expect(COUNT, "shop::Plain[]|variable shop::nested");
  expect(COUNT, (of_plain + "nested").c_str());
  expect(1, (of_plain + "maybe").c_str());
  expect(4, "shop::Node[]|variable shop::tree");
  expect(3, "long int[]|member numbers of shop::Node|variable shop::tree");
  expect(1, "shop::Hidden|variable shop::hidden");
  expect(1, "shop::Plain|variable shop::hidden");
  expect(1, (of_plain + "hidden").c_str());
  expect(1, "shop::Plain|variable shop::Hidden::plain");
  expect(1, (of_plain + "Hidden::plain").c_str());
  expect(1, "shop::Plain[]|variable (anonymous namespace)::unnamed");
  expect(1, "characters of std::string|variable text");
  std::puts("ready");
  pause();
  return 0;
}
