/* test_elf_names.c - breaks if assembler functions have no names, or if code or a variable gets a wrong one */
#include "program.h"

#include "symbols/elf_names.h"

/* The offsets are those in the table of the test below. */
static const char source[] = "  .text\n"
                             "  .globl bare, _start, __inner, public, outer\n"
                             "_start: .skip 16\n" /* 0: no size, no type */
                             "bare: .skip 16\n"   /* 16 */
                             "  .type __inner, @function\n  .type public, @function\n"
                             "__inner: public: .skip 16\n" /* 32: two names */
                             "  .size __inner, 16\n  .size public, 16\n"
                             "  .skip 16\n" /* 48: in no function */
                             "  .type outer, @function\n"
                             "outer: .skip 8\n" /* 64 */
                             "label: .skip 8\n" /* 72: inside outer, without a size */
                             "  .type nested, @function\n"
                             "nested: .skip 8\n  .size nested, 8\n"  /* 80: inside outer */
                             "  .skip 8\n  .size outer, . - outer\n" /* 88: outer again */
                             "last: .skip 16\n"                      /* 96 */
                             "  .data\n"
                             "not_code: .skip 16\n";

enum { TEXT = 0x401000, TEXT_BYTES = 112 };

static const struct {
  unsigned off;
  const char *name;
} expected[] = {
    {0, "_start"}, {15, "_start"}, {16, "bare"},  {31, "bare"},  {32, "public"}, {47, "public"}, {48, NULL},
    {63, NULL},    {64, "outer"},  {71, "outer"}, {72, "outer"}, {80, "nested"}, {87, "nested"}, {88, "outer"},
    {95, "outer"}, {96, "last"},   {111, "last"}, {112, NULL},   {4096, NULL},
};

static void check_names(const char *path)
{
  struct hwi_elf_file file;
  struct hwi_elf_names names = {0};
  struct hwi_store store = {0};
  assert_int_equal(hwi_elf_file_open(&file, path), HWI_SYMBOL_OK);
  assert_true(hwi_elf_names_add(&names, &file, HWI_ELF_FUNCTIONS));
  assert_true(hwi_elf_names_add(&names, &file, HWI_ELF_FUNCTIONS)); /* a debug file repeats the symbols */
  hwi_elf_names_finish(&names);
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
    struct hwi_elf_name *name = hwi_elf_names_find(&names, TEXT + expected[i].off);
    if (expected[i].name) {
      assert_non_null(name);
      assert_string_equal(hwi_elf_name_shown(name, &store), expected[i].name);
    } else {
      assert_null(name);
    }
  }
  assert_null(hwi_elf_names_find(&names, TEXT - 1));
  assert_null(hwi_elf_names_find(&names, 0));
  assert_null(hwi_elf_names_find(&names, UINT64_MAX));
  hwi_elf_names_release(&names);
  hwi_elf_file_close(&file);
  hwi_store_release(&store);
}

static void sizes_decide_who_covers_an_address(void **state)
{
  (void)state;
  write_source("asm.s", source);
  shell("gcc -nostdlib -static -no-pie -Wl,--build-id=none -Wl,-Ttext=%#x -o prog asm.s", TEXT);
  check_names(in_dir("prog"));
}

/* More than 65,280 sections: the number of a symbol's section does not fit into the symbol. */
static void many_sections_are_no_obstacle(void **state)
{
  (void)state;
  FILE *file = fopen(in_dir("many.s"), "w");
  for (unsigned i = 0; i < 66000; i++)
    fprintf(file, ".section .s%u,\"a\"\n.byte 0\n", i);
  fprintf(file, ".section .last,\"ax\"\n.skip %d\n.type far, @function\nfar: .skip 16\n.size far, 16\n", TEXT);
  fclose(file);
  shell("gcc -c -o many.o many.s");
  struct hwi_elf_file object;
  struct hwi_elf_names names = {0};
  assert_int_equal(hwi_elf_file_open(&object, in_dir("many.o")), HWI_SYMBOL_OK);
  assert_true(hwi_elf_names_add(&names, &object, HWI_ELF_FUNCTIONS));
  hwi_elf_names_finish(&names);
  struct hwi_elf_name *name = hwi_elf_names_find(&names, TEXT + 5);
  assert_non_null(name);
  assert_string_equal(name->name, "far");
  hwi_elf_names_release(&names);
  hwi_elf_file_close(&object);
}

static const char *name_at(const struct hwi_elf_file *file, enum hwi_elf_kind kind, uint64_t address)
{
  struct hwi_elf_names names = {0};
  assert_true(hwi_elf_names_add(&names, file, kind));
  hwi_elf_names_finish(&names);
  const struct hwi_elf_name *name = hwi_elf_names_find(&names, address);
  const char *found = name ? name->name : NULL;
  hwi_elf_names_release(&names);
  return found;
}

/* A variable has a size; what is between two has no name. Thread-local ones have addresses of their own, from 0 on. */
static void variables_are_apart_from_functions(void **state)
{
  (void)state;
  enum { DATA = 0x405000 };
  struct hwi_elf_file file;
  write_source("data.s", ".text\n.globl _start\n.type _start, @function\n_start: .skip 16\n.size _start, 16\n.data\n"
                         ".type table, @object\ntable: .skip 24\n.size table, 24\n.skip 8\nbare: .skip 32\n"
                         ".section .tdata,\"awT\"\n.skip 8\n.type local, @object\nlocal: .skip 8\n.size local, 8\n");
  shell("gcc -nostdlib -static -no-pie -Wl,--build-id=none -Wl,-Ttext=%#x -Wl,-Tdata=%#x -o data data.s", TEXT, DATA);
  assert_int_equal(hwi_elf_file_open(&file, in_dir("data")), HWI_SYMBOL_OK);
  assert_string_equal(name_at(&file, HWI_ELF_VARIABLES, DATA + 23), "table");
  assert_null(name_at(&file, HWI_ELF_VARIABLES, DATA + 24));
  assert_null(name_at(&file, HWI_ELF_VARIABLES, DATA + 32));
  assert_null(name_at(&file, HWI_ELF_VARIABLES, TEXT));
  assert_string_equal(name_at(&file, HWI_ELF_LOCALS, 15), "local");
  assert_null(name_at(&file, HWI_ELF_LOCALS, 7));
  assert_null(name_at(&file, HWI_ELF_LOCALS, 16));
  assert_string_equal(name_at(&file, HWI_ELF_FUNCTIONS, TEXT), "_start");
  assert_null(name_at(&file, HWI_ELF_FUNCTIONS, DATA));
  hwi_elf_file_close(&file);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(variables_are_apart_from_functions),
      cmocka_unit_test(sizes_decide_who_covers_an_address),
      cmocka_unit_test(many_sections_are_no_obstacle),
  };
  return cmocka_run_group_tests(tests, make_program_dir, remove_program_dir);
}
