/* test_hostile.c - breaks if a damaged or forged file crashes or hangs the report
 *
 * A program with debug information is cut short at many places and has bytes overwritten, mostly in the sections that
 * are parsed. Any answer is accepted, but there must be one.
 */
#include "damaged_program.h"

/* Sanitizers see faults that end no process by themselves: all files are for them, and the first third for other builds. */
#ifdef HW_SANITIZED
enum { CUTS = 60, FLIPPED_FILES = 400 };
#else
enum { CUTS = 20, FLIPPED_FILES = 140 };
#endif

static const char source[] =
    "#include <cstdio>\n"
    "#include <string>\n"
    "#include <vector>\n"
    "__attribute__((noinline)) void here() { printf(\"%p\\n\", __builtin_return_address(0)); }\n"
    "static inline __attribute__((always_inline)) void melt() { here(); asm(\"\"); }\n"
    "namespace { struct box { __attribute__((noinline)) void add() { melt(); } }; }\n"
    "int main(int count, char **words) {\n"
    "  std::vector<std::string> all(words, words + count);\n"
    "  box().add(); auto f = [&]() __attribute__((noinline)) { here(); return all.size(); };\n"
    "  return f() == 0; }\n";

static int ask(void *unused)
{
  (void)unused;
  struct hwi_symbols *symbols = new_symbols(NULL);
  struct hwi_symbol_module module = {.path = in_dir("damaged")};
  const struct hwi_symbol *frames;
  for (size_t i = 0; i < program_address_count; i++) {
    uint32_t count = hwi_symbols_find(symbols, &module, program_addresses[i], true, &frames);
    for (uint32_t j = 0; j < count; j++) {
      if (frames[j].reason == HWI_SYMBOL_OK && (!frames[j].function || !frames[j].file))
        abort();
    }
  }
  for (uint64_t address = program_addresses[0] & ~UINT64_C(0xfff); address % 0x2000 != 0x1fff; address += 0xf1) {
    hwi_symbols_find(symbols, &module, address, false, &frames);
    if (address - program_addresses[0] + 0x1000 > 0x3000)
      break;
  }
  hwi_symbols_find(symbols, &module, UINT64_MAX, true, &frames);
  hwi_symbols_find(symbols, &module, 0, true, &frames);
  hwi_symbols_destroy(symbols);
  return 0;
}

static void prepare(const char *flags)
{
  write_source("prog.cpp", source);
  shell("g++ -O1 -std=c++17 -no-pie %s -o prog prog.cpp", flags);
  run_program("prog");
  read_whole("prog");
}

static void a_file_cut_short_is_survived(void **state)
{
  (void)state;
  prepare("-g");
  ask_cut_short(ask, NULL, CUTS);
}

/* Returns the range of a section in the file; 0: there is no such section. */
static size_t section_off(const char *name, size_t *bytes)
{
  char command[PROGRAM_COMMAND_BYTES], line[256] = "0 0";
  snprintf(command, sizeof command, "objdump -h '%s' | awk '$2 == \"%s\" {print $6, $3}'", in_dir("prog"), name);
  FILE *pipe = popen(command, "r");
  if (!fgets(line, sizeof line, pipe))
    line[0] = '\0';
  pclose(pipe);
  char *end;
  size_t off = strtoull(line, &end, 16);
  *bytes = strtoull(end, NULL, 16);
  assert_true(off + *bytes <= whole_bytes);
  return off;
}

static void flip_in(const char *section, unsigned files)
{
  size_t bytes, off = section[0] ? section_off(section, &bytes) : (bytes = whole_bytes, 0);
  if (bytes == 0)
    return;
  unsigned char *damaged = malloc(whole_bytes);
  for (unsigned i = 0; i < files; i++) {
    memcpy(damaged, whole, whole_bytes);
    for (uint32_t flips = 1 + any() % 12; flips > 0; flips--) {
      static const unsigned char favourites[] = {0, 1, 0x7f, 0x80, 0xff};
      damaged[off + any() % bytes] = any() % 2 ? (unsigned char)any() : favourites[any() % sizeof favourites];
    }
    write_damaged(damaged, whole_bytes);
    ask_aside(ask, NULL, section, i);
  }
  free(damaged);
}

static void bytes_overwritten_are_survived(void **state)
{
  (void)state;
  static const char *const flags[] = {"-gdwarf-5", "-gdwarf-4"};
  static const char *const sections[] = {
      ".debug_info", ".debug_abbrev", ".debug_line", ".debug_rnglists", ".debug_str", ".debug_ranges", ""};
  enum { ROUNDS = sizeof flags / sizeof *flags * sizeof sections / sizeof *sections };
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
    prepare(flags[i]);
    for (size_t j = 0; j < sizeof sections / sizeof *sections; j++)
      flip_in(sections[j], FLIPPED_FILES / ROUNDS);
  }
}

/* The sections that a stripped file still has. */
static void damaged_unwind_tables_are_survived(void **state)
{
  (void)state;
  write_source("prog.cpp", source);
  shell("g++ -O1 -std=c++17 -no-pie -o prog prog.cpp && strip prog");
  run_program("prog");
  read_whole("prog");
  flip_in(".eh_frame_hdr", FLIPPED_FILES / 8);
  flip_in(".eh_frame", FLIPPED_FILES / 8);
}

/* The header and the section table, where one byte changes the place of everything. */
static void a_damaged_header_is_survived(void **state)
{
  (void)state;
  prepare("-g");
  size_t table_bytes = 64 * 40, table_off = whole_bytes - table_bytes;
  unsigned char *damaged = malloc(whole_bytes);
  for (unsigned i = 0; i < FLIPPED_FILES / 4; i++) {
    memcpy(damaged, whole, whole_bytes);
    for (uint32_t flips = 1 + any() % 4; flips > 0; flips--)
      damaged[any() % 2 ? any() % 64 : table_off + any() % table_bytes] = (unsigned char)any();
    write_damaged(damaged, whole_bytes);
    ask_aside(ask, NULL, "header", i);
  }
  free(damaged);
}

/* A few kilobytes of .gnu_debugdata that decompress to gigabytes. */
static void a_bomb_of_packed_symbols_is_left_alone(void **state)
{
  (void)state;
  prepare("");
  shell("head -c 1000000000 /dev/zero | xz -0 -T2 >bomb.xz && strip prog");
  shell("objcopy --add-section .gnu_debugdata=bomb.xz prog damaged");
  ask_aside(ask, NULL, "bomb", 0);
}

static int release(void **state)
{
  free(whole);
  return remove_program_dir(state);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_file_cut_short_is_survived),           cmocka_unit_test(bytes_overwritten_are_survived),
      cmocka_unit_test(damaged_unwind_tables_are_survived),     cmocka_unit_test(a_damaged_header_is_survived),
      cmocka_unit_test(a_bomb_of_packed_symbols_is_left_alone),
  };
  return cmocka_run_group_tests(tests, make_program_dir, release);
}
