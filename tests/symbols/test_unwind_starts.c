/* test_unwind_starts.c - breaks if a function of a stripped file has a wrong start, or if a forged table crashes the
 * tool */
#include "program.h"

#include "symbols/elf_file.h"
#include "symbols/unwind_starts.h"

static const char source[] = "__attribute__((noipa)) int first(int a) { return a * 3; }\n"
                             "__attribute__((noipa)) int second(int a) { return first(a) + 1; }\n"
                             "int main(void) { return second(0) - 1; }\n"
                             "asm(\".text\\n.p2align 4\\n.type bare,@function\\nbare: nop\\n nop\\n ret\\n\");\n";

enum { TABLE_OFF = 12, COUNT_OFF = 8, ENTRY_BYTES = 8 };

static uint64_t address_of(const char *name)
{
  char command[PROGRAM_COMMAND_BYTES], line[64] = "";
  snprintf(command, sizeof command, "nm '%s' | awk '$3 == \"%s\" {print $1}'", in_dir("named"), name);
  FILE *pipe = popen(command, "r");
  assert_non_null(fgets(line, sizeof line, pipe));
  pclose(pipe);
  return strtoull(line, NULL, 16);
}

static void build(void)
{
  write_source("prog.c", source);
  shell("gcc -O1 -o named prog.c && cp named prog && strip prog");
}

static struct hwi_elf_file open_file(const char *name)
{
  struct hwi_elf_file file = {.fd = -1};
  assert_int_equal(hwi_elf_file_open(&file, in_dir(name)), HWI_SYMBOL_OK);
  return file;
}

static uint64_t find_in(const char *name, uint64_t address)
{
  struct hwi_elf_file file = open_file(name);
  struct hwi_unwind_starts starts;
  hwi_unwind_starts_open(&starts, file.elf);
  uint64_t found = hwi_unwind_starts_find(&starts, address);
  hwi_unwind_starts_close(&starts);
  hwi_elf_file_close(&file);
  return found;
}

static void a_function_is_found_from_its_first_byte_to_its_last(void **state)
{
  (void)state;
  build();
  uint64_t first = address_of("first"), second = address_of("second");
  assert_int_equal(find_in("prog", first), first);
  assert_int_equal(find_in("prog", first + 1), first);
  assert_int_equal(find_in("prog", second), second);
  assert_int_equal(find_in("prog", second + 4), second);
}

static void code_without_an_entry_has_no_beginning(void **state)
{
  (void)state;
  build();
  assert_int_equal(find_in("prog", address_of("bare") + 1), 0);
  assert_int_equal(find_in("prog", 0), 0);
  assert_int_equal(find_in("prog", UINT64_MAX), 0);
}

/* Offset of the table's header in the file. */
static long header_off(void)
{
  char command[PROGRAM_COMMAND_BYTES], line[64] = "";
  snprintf(command, sizeof command, "objdump -h '%s' | awk '$2 == \".eh_frame_hdr\" {print $6}'", in_dir("prog"));
  FILE *pipe = popen(command, "r");
  assert_non_null(fgets(line, sizeof line, pipe));
  pclose(pipe);
  return (long)strtoull(line, NULL, 16);
}

static void overwrite(long off, const void *bytes, size_t count)
{
  shell("cp prog forged");
  FILE *file = fopen(in_dir("forged"), "r+b");
  assert_non_null(file);
  assert_int_equal(fseek(file, header_off() + off, SEEK_SET), 0);
  assert_int_equal(fwrite(bytes, 1, count, file), count);
  fclose(file);
}

static void a_forged_table_gives_nothing_worse_than_nothing(void **state)
{
  (void)state;
  build();
  uint64_t second = address_of("second");
  const uint32_t many = UINT32_MAX, none = 0;
  overwrite(COUNT_OFF, &many, sizeof many);
  find_in("forged", second); /* any answer: there are no more entries than the segment has room for */
  overwrite(COUNT_OFF, &none, sizeof none);
  assert_int_equal(find_in("forged", second), 0);
  for (unsigned byte = 0; byte < 4; byte++) { /* version and encodings */
    overwrite((long)byte, "\x7f", 1);
    assert_int_equal(find_in("forged", second), 0);
  }
  unsigned char wild[16 * ENTRY_BYTES];
  memset(wild, 0x80, sizeof wild);
  overwrite(TABLE_OFF, wild, sizeof wild);
  find_in("forged", second);
  find_in("forged", UINT64_MAX - 5);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_function_is_found_from_its_first_byte_to_its_last),
      cmocka_unit_test(code_without_an_entry_has_no_beginning),
      cmocka_unit_test(a_forged_table_gives_nothing_worse_than_nothing),
  };
  return cmocka_run_group_tests(tests, make_program_dir, remove_program_dir);
}
