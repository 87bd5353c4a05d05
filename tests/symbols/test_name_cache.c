/* test_name_cache.c - names that a report caches next to its recording are exactly the same, and of files that have not
 * changed
 *
 * Breaks if names come from a program that was rebuilt since, or for which a debug file now has better ones; if names
 * come from a file that is damaged, forged, cut short or another user's; or if a module that was not requested is
 * forgotten.
 */
#include "program.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include "../trace/failing_malloc.h"
#include "symbols/name_cache.h"

static const char source[] =
    "#include <cstdio>\n"
    "extern \"C\" __attribute__((noinline)) void here() { printf(\"%p\\n\", __builtin_return_address(0)); }\n"
    "#define KEEP __attribute__((noinline))\n"
    "#define MELT static inline __attribute__((always_inline))\n"
    "#define BARRIER asm volatile(\"\" : : \"i\"(__LINE__))\n"
    "MELT void second() { here(); BARRIER; }\n"
    "namespace shop { KEEP void first() { second(); BARRIER; }\n"
    "template <class T> struct Box { KEEP void add(T) { here(); BARRIER; } }; }\n"
    "int main() { shop::first(); shop::Box<int>().add(1); }\n";

enum { AT_FIRST, AT_ADD, ADDRESS_COUNT };

static const char recording[] = "a.hwt", names_file[] = "a.hwt.names";

/* CPU time of this process. */
static clock_t clock_now;

clock_t clock(void)
{
  return clock_now;
}

static void build(const char *flags)
{
  write_source("prog.cpp", source);
  shell("rm -rf a.hwt* prog gone other *.dwo debug");
  shell("g++ -O2 -no-pie -std=c++17 %s -o prog prog.cpp", flags);
  run_program("prog");
  assert_int_equal(program_address_count, ADDRESS_COUNT);
}

static struct hwi_symbols *begin(const char *debug_dir)
{
  struct hwi_symbols *symbols = new_symbols(debug_dir);
  assert_int_equal(hwi_symbols_use_cache(symbols, in_dir(recording), NULL), 0);
  return symbols;
}

static void end(struct hwi_symbols *symbols)
{
  hwi_symbols_save_names(symbols, true);
  hwi_symbols_destroy(symbols);
}

static uint32_t find(struct hwi_symbols *symbols, const char *program, size_t at, const struct hwi_symbol **frames)
{
  const struct hwi_symbol_module module = {.path = in_dir(program)};
  return hwi_symbols_find(symbols, &module, program_addresses[at], true, frames);
}

static const char *name_of(struct hwi_symbols *symbols, const char *program, size_t at)
{
  const struct hwi_symbol *frames;
  assert_true(find(symbols, program, at, &frames) > 0);
  return frames[0].function;
}

static void keep_names_of(const char *program, const char *debug_dir)
{
  struct hwi_symbols *symbols = begin(debug_dir);
  for (size_t i = 0; i < ADDRESS_COUNT; i++)
    name_of(symbols, program, i);
  end(symbols);
}

static bool are_kept(void)
{
  return access(in_dir(names_file), F_OK) == 0;
}

static void assert_same_text(const char *text, const char *expected)
{
  assert_int_equal(text == NULL, expected == NULL);
  if (text)
    assert_string_equal(text, expected);
}

/* The same answers as those of one without a cache. */
static void assert_right(struct hwi_symbols *symbols, const char *program, const char *debug_dir)
{
  struct hwi_symbols *fresh = new_symbols(debug_dir);
  for (size_t i = 0; i < ADDRESS_COUNT; i++) {
    const struct hwi_symbol *frames, *expected;
    uint32_t count = find(fresh, program, i, &expected);
    assert_int_equal(find(symbols, program, i, &frames), count);
    for (uint32_t k = 0; k < count; k++) {
      assert_same_text(frames[k].function, expected[k].function);
      assert_same_text(frames[k].file, expected[k].file);
      assert_int_equal(frames[k].line, expected[k].line);
      assert_int_equal(frames[k].start, expected[k].start);
      assert_int_equal(frames[k].inlined, expected[k].inlined);
      assert_int_equal(frames[k].reason, expected[k].reason);
    }
  }
  hwi_symbols_destroy(fresh);
}

static void assert_right_now(const char *program, const char *debug_dir)
{
  struct hwi_symbols *symbols = begin(debug_dir);
  assert_right(symbols, program, debug_dir);
  hwi_symbols_destroy(symbols);
}

/* Replaces every cached name by another one, so that it shows whether it is used. */
static void forge_names(void)
{
  struct hwi_name_cache names;
  struct hwi_names_answers answers = {0};
  struct hwi_store store = {0};
  struct hwi_names_key key;
  const struct hwi_cached_module *module;
  hwi_name_cache_load(&names, in_dir(names_file), &store);
  for (size_t i = 0; (module = hwi_name_cache_at(&names, i, &key)) != NULL; i++)
    assert_true(hwi_name_cache_add_to(&names, module, &answers));
  assert_true(answers.count > 0);
  for (size_t i = 0; i < answers.count; i++)
    ((struct hwi_symbol *)answers.list[i].frames)[0].function = hwi_store_string(&store, "forged");
  hwi_name_cache_write(in_dir(names_file), &answers);
  free(answers.list);
  hwi_store_release(&store);
  hwi_name_cache_release(&names);
}

static bool uses_kept(const char *program, const char *debug_dir)
{
  struct hwi_symbols *symbols = begin(debug_dir);
  bool used = strcmp(name_of(symbols, program, AT_ADD), "forged") == 0;
  hwi_symbols_destroy(symbols);
  return used;
}

/* --- the tests --- */

static void kept_names_are_the_same(void **state)
{
  (void)state;
  struct stat about;
  build("-g");
  keep_names_of("prog", NULL);
  assert_true(are_kept());
  assert_int_equal(stat(in_dir(names_file), &about), 0);
  assert_int_equal(about.st_mode & 0777, 0600);
  assert_right_now("prog", NULL);
  forge_names();
  assert_true(uses_kept("prog", NULL));
}

static void a_stripped_program_is_kept_as_such(void **state)
{
  (void)state;
  build("-s");
  keep_names_of("prog", NULL);
  assert_true(are_kept());
  assert_right_now("prog", NULL);
}

static void a_changed_program_is_looked_up_anew(void **state)
{
  (void)state;
  build("-g");
  keep_names_of("prog", NULL);
  forge_names();
  shell("touch -d 2001-01-01 prog");
  assert_false(uses_kept("prog", NULL));
  keep_names_of("prog", NULL); /* replaces the old one */
  assert_right_now("prog", NULL);
  forge_names();
  assert_true(uses_kept("prog", NULL));
  shell("cp prog other && mv other prog"); /* another file */
  assert_false(uses_kept("prog", NULL));
  shell("rm prog");
  assert_right_now("prog", NULL);
}

/* Where the files are gone, names that were kept for that are used, and stay in the file after a report on other modules. */
static void names_kept_for_elsewhere(void **state)
{
  (void)state;
  build("-g -gsplit-dwarf"); /* names that are not cached otherwise */
  struct hwi_symbols *symbols = begin(NULL);
  for (size_t i = 0; i < ADDRESS_COUNT; i++)
    name_of(symbols, "prog", i);
  assert_true(hwi_symbols_keep_names(symbols));
  const char *expected = strdup(name_of(symbols, "prog", AT_ADD));
  hwi_symbols_destroy(symbols);
  assert_right_now("prog", NULL);
  shell("mv prog gone");
  symbols = begin(NULL);
  assert_string_equal(name_of(symbols, "prog", AT_ADD), expected);
  end(symbols);
  symbols = new_symbols(NULL);
  struct hwi_error error;
  assert_int_equal(hwi_symbols_use_kept(symbols, in_dir(recording), &error), 0);
  assert_string_equal(name_of(symbols, "prog", AT_ADD), expected);
  assert_null(name_of(symbols, "other2", AT_ADD));
  hwi_symbols_destroy(symbols);
  free((void *)expected);
}

static void a_debug_file_that_appears_is_used(void **state)
{
  (void)state;
  build("-g -Wl,--build-id=sha1");
  shell("mkdir debug && objcopy --only-keep-debug prog debug/later && strip prog");
  keep_names_of("prog", in_dir("debug"));
  assert_true(are_kept());
  forge_names();
  assert_true(uses_kept("prog", in_dir("debug")));
  uint8_t build_id[PROGRAM_BUILD_ID_BYTES];
  read_build_id("prog", build_id);
  const struct hwi_symbol_module module = {
      .path = in_dir("prog"), .build_id = build_id, .build_id_bytes = sizeof build_id};
  const struct hwi_symbol *frames;
  for (int has_file = 0; has_file < 2; has_file++) {
    struct hwi_symbols *symbols = begin(in_dir("debug"));
    hwi_symbols_find(symbols, &module, program_addresses[AT_ADD], true, &frames);
    assert_int_equal(frames[0].line, has_file ? 8 : 0);
    end(symbols);
    shell("mv debug/later debug/prog.debug 2>/dev/null || true");
  }
}

static void names_in_split_files_are_not_kept(void **state)
{
  (void)state;
  build("-g -gsplit-dwarf");
  keep_names_of("prog", NULL);
  assert_false(are_kept());
}

static void a_module_that_was_not_asked_for_stays(void **state)
{
  (void)state;
  build("-g");
  shell("cp prog other");
  keep_names_of("prog", NULL);
  keep_names_of("other", NULL);
  forge_names();
  assert_true(uses_kept("prog", NULL));
  assert_true(uses_kept("other", NULL));
}

static void nothing_is_kept_where_it_is_not_worth_it(void **state)
{
  (void)state;
  build("-g");
  struct hwi_symbols *symbols = begin(NULL);
  hwi_symbols_save_names(symbols, true); /* none was requested */
  assert_false(are_kept());
  name_of(symbols, "prog", AT_ADD);
  clock_now += 3 * CLOCKS_PER_SEC / 10;
  hwi_symbols_save_names(symbols, false);
  assert_false(are_kept());
  clock_now += CLOCKS_PER_SEC / 100;
  hwi_symbols_save_names(symbols, false);
  assert_true(are_kept());
  hwi_symbols_destroy(symbols);
}

static uint8_t *read_names(size_t *count)
{
  struct stat about;
  int fd = open(in_dir(names_file), O_RDONLY);
  assert_int_equal(fstat(fd, &about), 0);
  *count = (size_t)about.st_size;
  uint8_t *bytes = malloc(*count + 1);
  assert_int_equal(read(fd, bytes, *count), *count);
  close(fd);
  return bytes;
}

static void write_names(const uint8_t *bytes, size_t count)
{
  int fd = open(in_dir(names_file), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  assert_int_equal(write(fd, bytes, count), count);
  close(fd);
}

/* A file with one module and one answer of `frame_count` frames. Each names the function at offset `function` of the
 * texts. */
static void write_forged(uint32_t frame_count, uint32_t function, const char *text, uint64_t text_bytes)
{
  enum { ENDS = 2, PLAIN_BYTES = 1 << 16, FUNCTION_OFF = 8 };
  static const struct hwi_symbol any = {.function = "any"};
  static uint8_t plain[PLAIN_BYTES], file[2 * PLAIN_BYTES];
  const uint64_t modules[] = {1, 2, 0, 0, 0, 1}, answers[] = {3, 0, 0, frame_count};
  const uint32_t one = 1;
  struct hwi_names_answer answer = {{1, 2}, 3, &any, 1};
  size_t count, at = sizeof modules + sizeof answers;
  hwi_name_cache_write(in_dir(names_file), &(struct hwi_names_answers){&answer, 1, 1});
  uint8_t *written = read_names(&count);
  memcpy(file, written, HWI_NAMES_HEADER_BYTES);
  free(written);
  memcpy(file + HWI_NAMES_MODULE_COUNT_OFF, &one, sizeof one);
  memcpy(file + HWI_NAMES_ANSWER_COUNT_OFF, &one, sizeof one);
  memcpy(file + HWI_NAMES_FRAME_COUNT_OFF, &frame_count, sizeof frame_count);
  memcpy(file + HWI_NAMES_TEXT_BYTES_OFF, &text_bytes, sizeof text_bytes);
  memset(plain, 0, sizeof plain);
  memcpy(plain, modules, sizeof modules);
  memcpy(plain + sizeof modules, answers, sizeof answers);
  for (uint32_t i = 0; i < frame_count; i++, at += HWI_NAMES_FRAME_BYTES)
    memcpy(plain + at + FUNCTION_OFF, &function, sizeof function);
  memcpy(plain + at, text, text_bytes);
  count = ZSTD_compress(file + HWI_NAMES_HEADER_BYTES, sizeof file - HWI_NAMES_HEADER_BYTES, plain, at + text_bytes, 1);
  assert_false(ZSTD_isError(count));
  write_names(file, HWI_NAMES_HEADER_BYTES + count);
}

/* Returns the function of the only cached answer, or "". */
static void read_kept(char *function, size_t bytes)
{
  struct hwi_store store = {0};
  struct hwi_name_cache names;
  struct hwi_frame_list frames = {0};
  hwi_name_cache_load(&names, in_dir(names_file), &store);
  const struct hwi_cached_module *module = hwi_name_cache_module(&names, (struct hwi_names_key){1, 2});
  bool found = module && hwi_name_cache_find(&names, module, 3, &frames);
  snprintf(function, bytes, "%s", found ? frames.list[0].function : "");
  if (module) {
    struct hwi_names_answers answers = {0};
    assert_true(hwi_name_cache_add_to(&names, module, &answers));
    assert_int_equal(answers.count, found);
    free(answers.list);
  }
  free(frames.list);
  hwi_name_cache_release(&names);
  hwi_store_release(&store);
}

/* A small file might cost minutes if each of millions of frames could have its own long text, or a part of one. */
static void a_forged_file_costs_little(void **state)
{
  (void)state;
  enum { MOST_FRAMES = 1024, MAIN = 1, AIN = 2, FILE_NAME = 6 };
  static const char text[] = "\0main\0/a.c", more[] = "\0main\0/a.c\0third";
  static const struct {
    uint32_t frame_count, function;
    const char *text;
    size_t text_bytes;
    const char *expected;
  } cases[] = {{1, MAIN, text, sizeof text, "main"},
               {1, FILE_NAME, text, sizeof text, "/a.c"},
               {1, AIN, text, sizeof text, ""},
               {1, sizeof text, text, sizeof text, ""},
               {2, MAIN, more, sizeof more, "main"},
               {1, MAIN, more, sizeof more, ""},
               {MOST_FRAMES, MAIN, text, sizeof text, "main"},
               {MOST_FRAMES + 1, MAIN, text, sizeof text, ""}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char function[sizeof more];
    write_forged(cases[i].frame_count, cases[i].function, cases[i].text, cases[i].text_bytes);
    read_kept(function, sizeof function);
    assert_string_equal(function, cases[i].expected);
  }
}

static void a_long_name_is_kept(void **state)
{
  (void)state;
  enum { LONG = 100000 };
  static char name[LONG], function[LONG];
  memset(name, 'x', LONG - 1);
  const struct hwi_symbol frame = {.function = name};
  struct hwi_names_answer answer = {{1, 2}, 3, &frame, 1};
  hwi_name_cache_write(in_dir(names_file), &(struct hwi_names_answers){&answer, 1, 1});
  read_kept(function, sizeof function);
  assert_string_equal(function, name);
}

/* Names that are not added would be lost from the file. */
static void without_memory_nothing_is_left_out(void **state)
{
  (void)state, (void)failing_malloc_leaks;
  bool failed = true;
  write_forged(1, 1, "\0main", sizeof "\0main");
  for (uint64_t calls = 0; failed; calls++) {
    struct hwi_store store = {0};
    struct hwi_name_cache names;
    struct hwi_names_answers answers = {0};
    hwi_name_cache_load(&names, in_dir(names_file), &store);
    const struct hwi_cached_module *module = hwi_name_cache_module(&names, (struct hwi_names_key){1, 2});
    failing_malloc_arm(calls, UINT64_MAX);
    bool added = hwi_name_cache_add_to(&names, module, &answers);
    failed = failing_malloc_disarm();
    assert_int_equal(added, !failed);
    assert_int_equal(answers.count, added);
    free(answers.list);
    hwi_name_cache_release(&names);
    hwi_store_release(&store);
  }
}

static void assert_same_names(const struct hwi_name_cache *expected)
{
  struct hwi_store store = {0};
  struct hwi_name_cache names;
  hwi_name_cache_load(&names, in_dir(names_file), &store);
  assert_int_equal(names.module_count, expected->module_count);
  assert_int_equal(names.text_count, expected->text_count);
  assert_true(expected->text_count > 0);
  const uint32_t last = expected->texts[expected->text_count - 1].off;
  const size_t before = (size_t)(expected->text - (const char *)expected->plain);
  assert_int_equal(names.text - (const char *)names.plain, before);
  assert_memory_equal(names.plain, expected->plain, before + last + strlen(expected->text + last) + 1);
  hwi_name_cache_release(&names);
  hwi_store_release(&store);
}

/* The names are forged, so that those of a damaged file would show. A file that unpacks to the same names may be
 * accepted. */
static void damage_is_never_believed(void **state)
{
  (void)state;
  size_t count;
  struct hwi_store store = {0};
  struct hwi_name_cache undamaged;
  build("-g");
  keep_names_of("prog", NULL);
  forge_names();
  hwi_name_cache_load(&undamaged, in_dir(names_file), &store);
  uint8_t *bytes = read_names(&count);
  for (size_t i = 0; i < count; i++) {
    bytes[i] ^= 0x41;
    write_names(bytes, count);
    if (uses_kept("prog", NULL))
      assert_same_names(&undamaged);
    bytes[i] ^= 0x41;
    write_names(bytes, i);
    assert_false(uses_kept("prog", NULL));
  }
  bytes[count] = 0;
  write_names(bytes, count + 1);
  assert_false(uses_kept("prog", NULL));
  write_names(bytes, count);
  assert_true(uses_kept("prog", NULL));
  free(bytes);
  hwi_name_cache_release(&undamaged);
  hwi_store_release(&store);
}

static void other_files_of_that_name_stay(void **state)
{
  (void)state;
  build("-g");
  write_source(names_file, "Anna\n");
  keep_names_of("prog", NULL);
  hwi_name_cache_remove(in_dir(recording));
  shell("echo Anna | cmp - %s && test \"$(ls a.hwt*)\" = %s", names_file, names_file);
  shell("rm %s && mkfifo %s", names_file, names_file);
  keep_names_of("prog", NULL);
  shell("test -p %s && rm %s", names_file, names_file);
  shell("mkdir %s", names_file);
  keep_names_of("prog", NULL);
  shell("rmdir %s", names_file);
  write_source(names_file, ""); /* the file that a full disk leaves */
  keep_names_of("prog", NULL);
  assert_right_now("prog", NULL);
  hwi_name_cache_remove(in_dir(recording));
  assert_false(are_kept());
}

static void all_of_a_run_have_one_file(void **state)
{
  (void)state;
  static const char *const paths[] = {"x/a.hwt", "x/a.hwt.children", "x/a.hwt.children/b.hwt"};
  for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
    char *path = hwi_name_cache_path(paths[i]);
    assert_string_equal(path, "x/a.hwt.names");
    free(path);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(kept_names_are_the_same),
      cmocka_unit_test(a_stripped_program_is_kept_as_such),
      cmocka_unit_test(a_changed_program_is_looked_up_anew),
      cmocka_unit_test(names_kept_for_elsewhere),
      cmocka_unit_test(a_debug_file_that_appears_is_used),
      cmocka_unit_test(names_in_split_files_are_not_kept),
      cmocka_unit_test(a_module_that_was_not_asked_for_stays),
      cmocka_unit_test(nothing_is_kept_where_it_is_not_worth_it),
      cmocka_unit_test(damage_is_never_believed),
      cmocka_unit_test(a_forged_file_costs_little),
      cmocka_unit_test(a_long_name_is_kept),
      cmocka_unit_test(without_memory_nothing_is_left_out),
      cmocka_unit_test(other_files_of_that_name_stay),
      cmocka_unit_test(all_of_a_run_have_one_file),
  };
  return cmocka_run_group_tests(tests, make_program_dir, remove_program_dir);
}
