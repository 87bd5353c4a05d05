/* test_block_types.c - damaged debug information, too much of it, and too little memory: the types of blocks are found or not,
 * but nothing else happens
 *
 * Breaks if a byte of a debug file is trusted, if memory in which everything points to everything is followed without an end, or
 * if a result of malloc is not checked.
 */
#include "../symbols/damaged_program.h"
#include "../trace/failing_malloc.h"
#include "made_memory.h"

#include "memory/types/block_types.h"

enum {
  PROGRAM = 0x400000,
  PROGRAM_BYTES = 0x10000,
  BLOCKS = 60,
  MANY_BLOCKS = 600, /* so many at one distance from the variables are followed together */
  CUTS = 40,
  FLIPPED_FILES = 200,
  CALLS_MOST = 3000,
};

/* At PROGRAM, and in PROGRAM_BYTES, also where the usual linker leaves more room between the parts of a program. */
#define LINK_FLAGS "-no-pie -Wl,-Ttext-segment=0x400000,-z,max-page-size=4096"

static const char source[] =
    "#include <list>\n"
    "#include <map>\n"
    "#include <string>\n"
    "#include <vector>\n"
    "struct node { node *next; char *name; union { node **list; void *any; }; node *more[3]; };\n"
    "struct outer { node inner[2]; std::vector<outer> children; const outer &other; };\n"
    "node *nodes; outer *outers; void *anything; node *table[50];\n"
    "std::map<int, std::string> names; std::list<std::vector<node>> lists;\n"
    "int main() { return names.size() + lists.size() + (nodes && outers && anything); }\n";

static const char small_source[] = "struct node { struct node *next; char *name; } *nodes, *table[600];\n"
                                   "int main(void) { return nodes != table[0]; }\n";

/* All words of the program and of the blocks are addresses of blocks. */
static void make_of(struct made *made, int count)
{
  uint64_t blocks[MANY_BLOCKS];
  made_init(made, 4 * PAGE * (uint64_t)count / BLOCKS);
  made_region(made, PROGRAM, PROGRAM_BYTES, true, NULL);
  hwi_memory_finish(&made->memory);
  for (int i = 0; i < count; i++)
    blocks[i] = made_live(made, (uint64_t)(24 + i % 9 * 16));
  for (uint64_t at = PROGRAM; at < PROGRAM + PROGRAM_BYTES; at += 8)
    made_set(made, at, blocks[at / 8 % (uint64_t)count]);
  for (int i = 0; i < count; i++)
    for (uint64_t off = 0; off + 8 <= hwi_core_block_bytes(&made->heap.blocks[i]); off += 8)
      made_set(made, blocks[i] + off, blocks[(off / 8 * 7 + (uint64_t)i * 5) % (uint64_t)count]);
}

static void make(struct made *made)
{
  make_of(made, BLOCKS);
}

struct answer {
  int status;
  bool is_cut;
  size_t types; /* of all blocks */
};

static struct answer ask_symbols(struct made *made, struct hwi_symbols *symbols, const char *program,
                                 uint64_t work_most)
{
  struct hwi_core_module module = {.path = program, .begin = PROGRAM, .end = PROGRAM + PROGRAM_BYTES};
  const struct hwi_core_modules modules = {.modules = &module, .count = 1};
  char text[HWI_BLOCK_TYPE_TEXT_BYTES];
  struct answer answer = {0};
  struct hwi_block_types types = {.vtables = {.memory = &made->memory,
                                              .modules = &modules,
                                              .symbols = symbols,
                                              .reader = {.memory = &made->memory}},
                                  .heap = &made->heap,
                                  .work_most = work_most};
  answer.status = hwi_block_types_find(&types, &made->error);
  answer.is_cut = types.is_cut;
  for (size_t i = 0; answer.status == 0 && i < made->heap.block_count; i++) {
    struct hwi_block_label label;
    if (!hwi_block_types_of(&types, i, &label))
      answer.status = HW_ERR_MEMORY;
    hwi_block_types_text(&types, &label, hwi_core_block_bytes(&made->heap.blocks[i]), text, sizeof text);
    answer.types += label.form > HWI_FORM_POINTED;
    if (!text[0])
      abort();
  }
  hwi_block_types_release(&types);
  return answer;
}

static struct answer ask(struct made *made, const char *program, uint64_t work_most)
{
  struct hwi_symbols *symbols = new_symbols(NULL);
  const struct answer answer = ask_symbols(made, symbols, program, work_most);
  hwi_symbols_destroy(symbols);
  return answer;
}

static int ask_damaged(void *made)
{
  return ask(made, in_dir("damaged"), 0).status < 0 ? 2 : 0;
}

static void prepare(const char *flags)
{
  write_source("prog.cpp", source);
  shell("g++ -O1 -std=c++17 " LINK_FLAGS " -g %s -o prog prog.cpp", flags);
  read_whole("prog");
}

static void test_whole(void **state)
{
  (void)state;
  struct made made;
  prepare("");
  make(&made);
  const struct answer answer = ask(&made, in_dir("prog"), 0);
  assert_int_equal(answer.status, 0);
  assert_false(answer.is_cut);
  assert_true(answer.types > BLOCKS / 4);
  made_release(&made);
}

/* Each amount of work is enough for something; the answer says that it was not for all. */
static void test_too_little_work(void **state)
{
  (void)state;
  struct made made;
  size_t before = 0;
  make(&made);
  for (uint64_t work = 1; work < 200; work += 40) {
    const struct answer answer = ask(&made, in_dir("prog"), work);
    assert_int_equal(answer.status, 0);
    assert_true(answer.is_cut);
    assert_true(answer.types >= before);
    before = answer.types;
  }
  made_release(&made);
}

static void test_cut_short(void **state)
{
  (void)state;
  struct made made;
  make(&made);
  ask_cut_short(ask_damaged, &made, CUTS);
  made_release(&made);
}

/* Debug information is what comes behind the program's own bytes: most of the file. */
static void test_overwritten(void **state)
{
  (void)state;
  struct made made;
  unsigned char *copy = malloc(whole_bytes);
  assert_non_null(copy);
  make(&made);
  for (unsigned long i = 0; i < FLIPPED_FILES; i++) {
    memcpy(copy, whole, whole_bytes);
    for (uint32_t flips = 1 + any() % 200; flips > 0; flips--)
      copy[64 + any() % (whole_bytes - 64)] = (unsigned char)any();
    write_damaged(copy, whole_bytes);
    ask_aside(ask_damaged, &made, "overwritten", i);
  }
  free(copy);
  made_release(&made);
}

/* libdw has what it needs from an earlier answer: it does not survive that it has no memory. */
static void test_each_call_fails(void **state)
{
  (void)state;
  struct made made;
  struct hwi_symbols *symbols = new_symbols(NULL);
  bool has_failed = true;
  uint64_t calls;
  write_source("small.c", small_source);
  shell("gcc -O1 " LINK_FLAGS " -g -o small small.c");
  make_of(&made, MANY_BLOCKS);
  assert_true(ask_symbols(&made, symbols, in_dir("small"), 0).types > 0);
  for (calls = 0; has_failed && calls < CALLS_MOST; calls++) {
    failing_malloc_arm(calls, 1);
    const struct answer answer = ask_symbols(&made, symbols, in_dir("small"), 0);
    has_failed = failing_malloc_disarm();
    assert_int_equal(failing_malloc_leaks(), 0);
    assert_int_equal(answer.status, has_failed ? HW_ERR_MEMORY : 0);
  }
  assert_true(calls > 20 && calls < CALLS_MOST);
  hwi_symbols_destroy(symbols);
  made_release(&made);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_whole), cmocka_unit_test(test_too_little_work),
                                     cmocka_unit_test(test_cut_short), cmocka_unit_test(test_overwritten),
                                     cmocka_unit_test(test_each_call_fails)};
  const int failed = cmocka_run_group_tests(tests, make_program_dir, remove_program_dir);
  free(whole);
  return failed;
}
