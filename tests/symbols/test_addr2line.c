/* test_addr2line.c - chains of inlined functions and lines are the same as those of binutils
 *
 * Hundreds of calls all over a program full of templates. Names are compared if binutils has the name of the debug
 * information: it shows the symbol table's name for the innermost frame, and gives up on some functions in shared
 * sections.
 */
#include "program.h"

#include "symbols/demangle.h"
#include "symbols/paths.h"

enum { ADDRESS_COUNT = 400, LINE_BYTES = 16384, MOST_FRAMES = 64 };

static const char source[] =
    "#include <algorithm>\n"
    "#include <deque>\n"
    "#include <functional>\n"
    "#include <iostream>\n"
    "#include <map>\n"
    "#include <memory>\n"
    "#include <string>\n"
    "#include <unordered_map>\n"
    "struct shape { virtual ~shape() = default; virtual std::string name() const = 0; };\n"
    "template <int N> struct polygon : shape {\n"
    "  std::string name() const override { return \"polygon \" + std::to_string(N); }\n"
    "};\n"
    "template <class Map, class Key> void count(Map &map, const Key &key) { map[key].push_back(1); }\n"
    "int main(int argc, char **words) {\n"
    "  std::map<std::string, std::vector<int>> seen;\n"
    "  std::unordered_map<int, std::deque<int>> lengths;\n"
    "  for (int i = 0; i < argc; i++) {\n"
    "    count(seen, std::string(words[i]));\n"
    "    count(lengths, seen.size());\n"
    "  }\n"
    "  std::vector<std::pair<std::string, int>> all;\n"
    "  for (auto &entry : seen) all.emplace_back(entry.first, entry.second.size());\n"
    "  std::sort(all.begin(), all.end());\n"
    "  std::stable_sort(all.begin(), all.end(), [](auto &a, auto &b) { return a.second < b.second; });\n"
    "  std::vector<std::unique_ptr<shape>> shapes;\n"
    "  shapes.push_back(std::make_unique<polygon<3>>());\n"
    "  shapes.push_back(std::make_unique<polygon<4>>());\n"
    "  std::function<void(const std::string &)> say = [&](auto &text) { std::cout << text << all.size(); };\n"
    "  for (auto &one : shapes) say(one->name());\n"
    "}\n";

struct expected {
  char *function, *file;
  uint32_t line;
};

static struct expected expected[MOST_FRAMES];
static size_t expected_count;
static unsigned compared, equal_counts, names_compared;

static void forget_expected(void)
{
  while (expected_count > 0) {
    free(expected[--expected_count].function);
    free(expected[expected_count].file);
  }
}

static void compare_name(const struct hwi_symbol *frame, const char *raw)
{
  char *name = hwi_demangle(raw);
  if (raw[0] != '_' || raw[1] != 'Z') {
    assert_non_null(strstr(frame->function, name)); /* with its enclosing scopes first */
    names_compared++;
  } else if (!strchr(frame->function, '(')) { /* a static function: no mangled name in DWARF */
    assert_memory_equal(frame->function, name, strlen(frame->function));
    names_compared++;
  } else if (!strstr(frame->function, "lambda")) { /* names with a lambda argument differ in DWARF */
    assert_string_equal(frame->function, name);
    names_compared++;
  }
  free(name);
}

static void compare(struct hwi_symbols *symbols, uint64_t address)
{
  struct hwi_symbol_module module = {.path = in_dir("prog")};
  const struct hwi_symbol *frames;
  uint32_t count = hwi_symbols_find(symbols, &module, address, false, &frames);
  compared++;
  if (count != expected_count || !frames[0].function)
    return;
  equal_counts++;
  for (uint32_t i = 0; i < count; i++) {
    if (expected[i].line == 0)
      continue;
    assert_string_equal(frames[i].file, expected[i].file);
    assert_int_equal(frames[i].line, expected[i].line);
    assert_int_equal(frames[i].inlined, i + 1 < count);
    if (i > 0 || count == 1)
      compare_name(&frames[i], expected[i].function);
  }
}

/* "file:line" or "file:line (discriminator 3)". */
static void expect(const char *function, const char *place)
{
  const char *colon = strrchr(place, ':');
  assert_non_null(colon);
  char *file = strndup(place, (size_t)(colon - place));
  assert_true(expected_count < MOST_FRAMES);
  expected[expected_count++] = (struct expected){
      .function = strdup(function), .file = hwi_path_join(NULL, file), .line = (uint32_t)strtoul(colon + 1, NULL, 10)};
  free(file);
}

static char *next_line(FILE *from, char *line)
{
  if (!fgets(line, LINE_BYTES, from))
    return NULL;
  line[strcspn(line, "\n")] = '\0';
  return line;
}

static void compare_all(struct hwi_symbols *symbols, FILE *answers)
{
  static char function[LINE_BYTES], place[LINE_BYTES];
  uint64_t address = 0;
  while (next_line(answers, function)) {
    if (strncmp(function, "0x", 2) != 0) {
      assert_non_null(next_line(answers, place));
      expect(function, place);
      continue;
    }
    if (expected_count > 0)
      compare(symbols, address);
    forget_expected();
    address = strtoull(function, NULL, 16);
  }
  compare(symbols, address);
  forget_expected();
}

static void frames_are_those_of_addr2line(void **state)
{
  const char *flags = *state;
  write_source("prog.cpp", source);
  shell("g++ -std=c++17 %s -o prog prog.cpp", flags);
  shell("objdump -d -j .text prog | sed -nE 's/^ *([0-9a-f]*):.*\t(call|blr?|jalr?)[ \t].*/0x\\1/p' >calls");
  shell("awk -v all=$(wc -l <calls) 'int(NR * %d / all) > int((NR - 1) * %d / all)' calls >questions", ADDRESS_COUNT,
        ADDRESS_COUNT);
  shell("addr2line -afi -e prog <questions >answers");
  struct hwi_symbols *symbols = new_symbols(NULL);
  FILE *answers = fopen(in_dir("answers"), "r");
  compared = equal_counts = names_compared = 0;
  compare_all(symbols, answers);
  fclose(answers);
  hwi_symbols_destroy(symbols);
  print_message("%s: %u addresses, %u with equally many frames, %u names\n", flags, compared, equal_counts,
                names_compared);
  assert_true(compared >= ADDRESS_COUNT / 2);
  assert_true(equal_counts >= compared * 97 / 100);
  assert_true(names_compared >= compared / 2);
}

int main(void)
{
  static char optimised[] = "-O2 -g", older[] = "-O1 -gdwarf-4", plain[] = "-O0 -g -ffunction-sections";
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_prestate(frames_are_those_of_addr2line, optimised),
      cmocka_unit_test_prestate(frames_are_those_of_addr2line, older),
      cmocka_unit_test_prestate(frames_are_those_of_addr2line, plain),
  };
  return cmocka_run_group_tests(tests, make_program_dir, remove_program_dir);
}
