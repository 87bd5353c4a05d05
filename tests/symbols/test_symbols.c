/* test_symbols.c - breaks if functions have no names, lines are wrong, or names come from a file that has changed
 * since */
#include "program.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* One function per line: the tests assert the lines. At a fixed address, so that a run's addresses are those in the
 * file. */
static const char source[] =
    "#include <cstdio>\n"
    "extern \"C\" __attribute__((noinline)) void here() { printf(\"%p\\n\", __builtin_return_address(0)); }\n"
    "#define KEEP __attribute__((noinline))\n"
    "#define MELT static inline __attribute__((always_inline))\n"
    "#define BARRIER asm volatile(\"\" : : \"i\"(__LINE__))\n"
    "MELT void third() { here(); BARRIER; }\n"
    "MELT void second() { third(); }\n"
    "namespace shop { MELT void first() { second(); }\n"
    "template <class T> struct Box { KEEP void add(T) { here(); BARRIER; }\n"
    "KEEP int operator()(int) const { here(); BARRIER; return 1; } };\n"
    "}\n"
    "namespace { KEEP void hidden() { here(); BARRIER; } }\n"
    "KEEP void top() { shop::first(); BARRIER; }\n"
    "int main() { top(); shop::Box<int>().add(1); shop::Box<int>()(2); hidden();\n"
    "auto lambda = [](int) KEEP { here(); BARRIER; };\n"
    "lambda(3); }\n";

enum { AT_TOP, AT_ADD, AT_CALL, AT_HIDDEN, AT_LAMBDA, ADDRESS_COUNT };

static const char plain_flags[] = "-O2 -no-pie -std=c++17";

static bool build_with(const char *compiler, const char *flags)
{
  write_source("prog.cpp", source);
  if (try_shell("%s %s %s -o prog prog.cpp 2>build.log", compiler, plain_flags, flags) != 0)
    return false;
  run_program("prog");
  assert_int_equal(program_address_count, ADDRESS_COUNT);
  return true;
}

static void build(const char *flags)
{
  assert_true(build_with("g++", flags));
}

static uint32_t find(struct hwi_symbols *symbols, const char *path, size_t index, const struct hwi_symbol **frames)
{
  struct hwi_symbol_module module = {.path = path};
  return hwi_symbols_find(symbols, &module, program_addresses[index], true, frames);
}

static void check_frame(const struct hwi_symbol *frame, const char *function, uint32_t line, bool inlined)
{
  assert_non_null(frame->function);
  assert_string_equal(frame->function, function);
  assert_non_null(frame->file);
  assert_string_equal(frame->file, in_dir("prog.cpp"));
  assert_int_equal(frame->line, line);
  assert_int_equal(frame->inlined, inlined);
  assert_int_equal(frame->reason, HWI_SYMBOL_OK);
}

/* Functions that other files cannot see: g++ stores no mangled names for them, clang++ does. */
struct hidden_names {
  const char *third, *second, *first, *hidden, *lambda;
};

static const struct hidden_names gcc_names = {"third", "second", "shop::first", "(anonymous namespace)::hidden",
                                              "main()::{lambda:15}::operator()"};
static const struct hidden_names clang_names = {"third()", "second()", "shop::first()",
                                                "(anonymous namespace)::hidden()", "main::$_0::operator()(int) const"};

static void check_everything(struct hwi_symbols *symbols, const char *path, const struct hidden_names *names)
{
  const struct hwi_symbol *frames;
  assert_int_equal(find(symbols, path, AT_TOP, &frames), 4);
  check_frame(&frames[0], names->third, 6, true);
  check_frame(&frames[1], names->second, 7, true);
  check_frame(&frames[2], names->first, 8, true);
  check_frame(&frames[3], "top()", 13, false);
  assert_int_equal(find(symbols, path, AT_ADD, &frames), 1);
  check_frame(&frames[0], "shop::Box<int>::add(int)", 9, false);
  assert_int_equal(find(symbols, path, AT_CALL, &frames), 1);
  check_frame(&frames[0], "shop::Box<int>::operator()(int) const", 10, false);
  assert_int_equal(find(symbols, path, AT_HIDDEN, &frames), 1);
  check_frame(&frames[0], names->hidden, 12, false);
  assert_int_equal(find(symbols, path, AT_LAMBDA, &frames), 1);
  check_frame(&frames[0], names->lambda, 15, false);
}

static void check_only_reason(const char *path, const char *debug_dir, enum hwi_symbol_reason reason)
{
  struct hwi_symbols *symbols = new_symbols(debug_dir);
  const struct hwi_symbol *frames;
  assert_int_equal(find(symbols, path, AT_TOP, &frames), 1);
  assert_null(frames[0].function);
  assert_int_equal(frames[0].reason, reason);
  hwi_symbols_destroy(symbols);
}

static void check_whole(const char *debug_dir)
{
  struct hwi_symbols *symbols = new_symbols(debug_dir);
  check_everything(symbols, in_dir("prog"), &gcc_names);
  hwi_symbols_destroy(symbols);
}

static void every_kind_of_debug_information_is_read(void **state)
{
  (void)state;
  static const char *const flags[] = {"-gdwarf-4",
                                      "-gdwarf-5",
                                      "-gdwarf-4 -gsplit-dwarf",
                                      "-gdwarf-5 -gsplit-dwarf",
                                      "-g -gz",
                                      "-g -flto",
                                      "-g -ffunction-sections -fdebug-types-section"};
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
    print_message("g++ %s\n", flags[i]);
    build(flags[i]);
    check_whole(NULL);
  }
}

/* clang writes no .debug_aranges and no DW_AT_sibling. */
static void clang_is_understood(void **state)
{
  (void)state;
  static const char *const flags[] = {"-gdwarf-4", "-gdwarf-5", "-gdwarf-5 -gsplit-dwarf"};
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
    if (!build_with("clang++", flags[i]))
      skip();
    struct hwi_symbols *symbols = new_symbols(NULL);
    check_everything(symbols, in_dir("prog"), &clang_names);
    hwi_symbols_destroy(symbols);
  }
}

static void a_relative_compilation_directory_is_made_plain(void **state)
{
  (void)state;
  shell("mkdir -p sub/dir");
  write_source("prog.cpp", source);
  shell("cd sub/dir && g++ %s -g -o ../../prog ./../../sub/../prog.cpp", plain_flags);
  run_program("prog");
  check_whole(NULL);
}

/* Distributions remove their build folders from paths: the rest is relative, and joined to itself it would be wrong. */
static void a_compilation_directory_that_was_cut_off_is_not_repeated(void **state)
{
  (void)state;
  shell("mkdir -p src && printf 'int main(void) { return 0; }' >src/main.c");
  shell(
      "cd src && gcc -g -no-pie -fdebug-prefix-map='%s'=. -o ../prog main.c && cd .. && nm prog | "
      "sed -n 's/ T main$//p' >address && { echo '#!/bin/sh'; echo \"echo $(cat address)\"; } >print && chmod +x print",
      program_dir);
  run_program("print");
  program_addresses[0]++;
  struct hwi_symbols *symbols = new_symbols(NULL);
  const struct hwi_symbol *frames;
  assert_int_equal(find(symbols, in_dir("prog"), 0, &frames), 1);
  assert_string_equal(frames[0].function, "main");
  assert_string_equal(frames[0].file, "src/main.c");
  hwi_symbols_destroy(symbols);
}

/* Like malloc in the C library, which is __libc_malloc in its debug information. */
static void a_public_alias_is_preferred(void **state)
{
  (void)state;
  write_source("prog.c",
               "#include <stdio.h>\n"
               "__attribute__((noinline)) void here(void) { printf(\"%p\\n\", __builtin_return_address(0)); }\n"
               "__attribute__((noinline)) void __grow(void) { here(); __asm__ volatile(\"\"); }\n"
               "extern void grow(void) __attribute__((alias(\"__grow\")));\n"
               "int main(void) { __grow(); return 0; }\n");
  shell("gcc -O1 -g -no-pie -o prog prog.c");
  run_program("prog");
  struct hwi_symbols *symbols = new_symbols(NULL);
  const struct hwi_symbol *frames;
  assert_int_equal(find(symbols, in_dir("prog"), 0, &frames), 1);
  assert_string_equal(frames[0].function, "grow");
  assert_int_equal(frames[0].line, 3);
  hwi_symbols_destroy(symbols);
}

static void a_symbol_table_gives_names_without_lines(void **state)
{
  (void)state;
  build("");
  struct hwi_symbols *symbols = new_symbols(NULL);
  const struct hwi_symbol *frames;
  static const char *const names[] = {"top()", "shop::Box<int>::add(int)", "shop::Box<int>::operator()(int) const",
                                      "(anonymous namespace)::hidden()",
                                      "main::{lambda(int)#1}::operator()(int) const"};
  for (size_t i = 0; i < ADDRESS_COUNT; i++) {
    assert_int_equal(find(symbols, in_dir("prog"), i, &frames), 1);
    assert_string_equal(frames[0].function, names[i]);
    assert_null(frames[0].file);
    assert_int_equal(frames[0].line, 0);
    assert_int_equal(frames[0].reason, HWI_SYMBOL_NO_LINES);
  }
  hwi_symbols_destroy(symbols);
}

static void a_stripped_file_keeps_its_exported_names(void **state)
{
  (void)state;
  build("-rdynamic");
  shell("strip prog");
  struct hwi_symbols *symbols = new_symbols(NULL);
  const struct hwi_symbol *frames;
  assert_int_equal(find(symbols, in_dir("prog"), AT_TOP, &frames), 1);
  assert_string_equal(frames[0].function, "top()");
  assert_int_equal(frames[0].reason, HWI_SYMBOL_NO_LINES);
  hwi_symbols_destroy(symbols);
  assert_int_equal(program_address_count, ADDRESS_COUNT);
  program_addresses[AT_TOP] = program_addresses[AT_HIDDEN];
  check_only_reason(in_dir("prog"), NULL, HWI_SYMBOL_STRIPPED);
}

/* As distributions split it: prog is stripped, root/.build-id/12/3456.debug has the rest. */
static void split_by_build_id(const char *flags, uint8_t build_id[PROGRAM_BUILD_ID_BYTES])
{
  build(flags);
  read_build_id("prog", build_id);
  char name[PROGRAM_BUILD_ID_BYTES * 2 + 1];
  for (size_t i = 0; i < PROGRAM_BUILD_ID_BYTES; i++)
    snprintf(name + i * 2, 3, "%02x", build_id[i]);
  shell("rm -rf root && mkdir -p root/.build-id/%.2s", name);
  shell("objcopy --only-keep-debug prog root/.build-id/%.2s/%s.debug && strip prog", name, name + 2);
}

static void a_debug_file_is_found_by_build_id(void **state)
{
  (void)state;
  uint8_t build_id[PROGRAM_BUILD_ID_BYTES];
  split_by_build_id("-g -Wl,--build-id=sha1", build_id);
  check_only_reason(in_dir("prog"), NULL, HWI_SYMBOL_STRIPPED);
  check_whole(in_dir("root"));
}

/* After an upgrade: the program no longer exists, the debug file does. */
static void a_debug_file_is_enough(void **state)
{
  (void)state;
  uint8_t build_id[PROGRAM_BUILD_ID_BYTES];
  split_by_build_id("-g -Wl,--build-id=sha1", build_id);
  shell("rm prog");
  struct hwi_symbol_module module = {
      .path = in_dir("prog"), .build_id = build_id, .build_id_bytes = PROGRAM_BUILD_ID_BYTES};
  struct hwi_symbols *symbols = new_symbols(in_dir("root"));
  const struct hwi_symbol *frames;
  assert_int_equal(hwi_symbols_find(symbols, &module, program_addresses[AT_ADD], true, &frames), 1);
  check_frame(&frames[0], "shop::Box<int>::add(int)", 9, false);
  hwi_symbols_destroy(symbols);
}

/* The stripped program is not at its path. Its copy in a debug directory has the unwind tables and packed symbols; a debug file made
 * of it has neither. */
static void a_copy_of_the_program_distinguishes_its_functions(void **state)
{
  (void)state;
  build("-Wl,--build-id=sha1");
  uint8_t build_id[PROGRAM_BUILD_ID_BYTES];
  read_build_id("prog", build_id);
  shell("cp prog mini && xz -f mini && strip prog && objcopy --add-section .gnu_debugdata=mini.xz prog packed");
  shell("for d in copy packed_copy debug; do rm -rf $d; mkdir $d; done");
  shell("cp prog copy && mv packed packed_copy/prog && objcopy --only-keep-debug prog debug/prog.debug");
  const struct hwi_symbol_module module = {
      .path = in_dir("prog"), .build_id = build_id, .build_id_bytes = PROGRAM_BUILD_ID_BYTES};
  struct hwi_symbol found[4];
  const char *const dirs[] = {NULL, "copy", "packed_copy", "debug"};
  for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
    struct hwi_symbols *symbols = new_symbols(dirs[i] ? in_dir(dirs[i]) : NULL);
    const struct hwi_symbol *frames;
    assert_int_equal(hwi_symbols_find(symbols, &module, program_addresses[AT_HIDDEN], true, &frames), 1);
    found[i] = frames[0];
    if (frames[0].function)
      assert_string_equal(frames[0].function, "(anonymous namespace)::hidden()");
    hwi_symbols_destroy(symbols);
    shell("rm -f prog");
  }
  assert_true(found[0].start != 0 && found[0].start < program_addresses[AT_HIDDEN]);
  assert_int_equal(found[1].start, found[0].start);
  assert_non_null(found[2].function);
  assert_true(!found[3].function && found[3].start == 0);
}

static void a_debug_file_is_found_by_debuglink(void **state)
{
  (void)state;
  static const char *const places[] = {".", ".debug", NULL};
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    char place[PROGRAM_PATH_BYTES * 2];
    snprintf(place, sizeof place, "root%s", program_dir);
    build("-g -Wl,--build-id=none");
    shell("rm -rf root .debug && mkdir -p .debug '%s'", place);
    shell("objcopy --only-keep-debug prog prog.debug && strip prog && objcopy --add-gnu-debuglink=prog.debug prog");
    shell("[ '%s' = . ] || mv prog.debug '%s'", places[i] ? places[i] : place, places[i] ? places[i] : place);
    check_whole(in_dir("root"));
    shell("printf x >>'%s/prog.debug'", places[i] ? places[i] : place);
    check_only_reason(in_dir("prog"), in_dir("root"), HWI_SYMBOL_STRIPPED);
    shell("rm -f prog.debug");
  }
}

static void packed_symbols_are_read(void **state)
{
  (void)state;
  build("");
  shell("cp prog mini && xz -f mini && strip prog && objcopy --add-section .gnu_debugdata=mini.xz prog");
  struct hwi_symbols *symbols = new_symbols(NULL);
  const struct hwi_symbol *frames;
  assert_int_equal(find(symbols, in_dir("prog"), AT_HIDDEN, &frames), 1);
  assert_string_equal(frames[0].function, "(anonymous namespace)::hidden()");
  assert_int_equal(frames[0].reason, HWI_SYMBOL_NO_LINES);
  hwi_symbols_destroy(symbols);
}

/* As in Debian's -dbgsym packages: the common part of two debug files is in a third one. */
static void an_alternate_file_is_read(void **state)
{
  (void)state;
  if (try_shell("command -v dwz >dwz.log") != 0)
    skip();
  build("-gdwarf-4");
  shell("cp prog twin && mkdir -p alt && dwz -m alt/shared.debug -M ../elsewhere/shared.debug prog twin");
  shell("readelf -S prog | grep -q gnu_debugaltlink && rm -rf elsewhere");
  /* the link names a missing file: found only by the build ID */
  shell(
      "id=$(readelf -n alt/shared.debug | sed -n 's/.*Build ID: //p'); rm -rf root && mkdir -p root/.build-id/${id%%${id#??}} "
      "&& cp alt/shared.debug root/.build-id/${id%%${id#??}}/${id#??}.debug");
  check_whole(in_dir("root"));
  shell(
      "cp prog prog.linked && mkdir -p place && mv prog place/prog && mkdir -p elsewhere && mv alt/shared.debug elsewhere");
  struct hwi_symbols *symbols = new_symbols(NULL);
  check_everything(symbols, in_dir("place/prog"), &gcc_names);
  hwi_symbols_destroy(symbols);
}

static void another_build_is_not_used(void **state)
{
  (void)state;
  build("-g -Wl,--build-id=sha1");
  uint8_t build_id[PROGRAM_BUILD_ID_BYTES];
  read_build_id("prog", build_id);
  struct hwi_symbol_module module = {
      .path = in_dir("prog"), .build_id = build_id, .build_id_bytes = PROGRAM_BUILD_ID_BYTES};
  struct hwi_symbols *symbols = new_symbols(NULL);
  const struct hwi_symbol *frames;
  assert_int_equal(hwi_symbols_find(symbols, &module, program_addresses[AT_TOP], true, &frames), 4);
  build_id[3] ^= 1; /* the same symbolizer: the build ID belongs to the module's identity */
  assert_int_equal(hwi_symbols_find(symbols, &module, program_addresses[AT_TOP], true, &frames), 1);
  assert_null(frames[0].function);
  assert_int_equal(frames[0].reason, HWI_SYMBOL_CHANGED);
  hwi_symbols_destroy(symbols);
}

static void a_replaced_file_needs_a_build_id(void **state)
{
  (void)state;
  build("-g -Wl,--build-id=sha1");
  uint8_t build_id[PROGRAM_BUILD_ID_BYTES];
  read_build_id("prog", build_id);
  struct hwi_symbol_module module = {.path = in_dir("prog (deleted)")};
  struct hwi_symbols *symbols = new_symbols(NULL);
  const struct hwi_symbol *frames;
  assert_int_equal(hwi_symbols_find(symbols, &module, program_addresses[AT_TOP], true, &frames), 1);
  assert_int_equal(frames[0].reason, HWI_SYMBOL_CHANGED);
  module.build_id = build_id;
  module.build_id_bytes = PROGRAM_BUILD_ID_BYTES;
  assert_int_equal(hwi_symbols_find(symbols, &module, program_addresses[AT_TOP], true, &frames), 4);
  hwi_symbols_destroy(symbols);
}

/* A file in a debug directory without a build-id may be of another build. */
static void a_copy_without_a_build_id_is_not_used(void **state)
{
  (void)state;
  build("-g -Wl,--build-id=none");
  shell("rm -rf root && mkdir -p 'root%s' named empty_root", program_dir);
  check_whole(in_dir("root"));
  shell("cp prog named/prog && mv prog 'root%s'", program_dir);
  check_only_reason(in_dir("prog"), in_dir("root"), HWI_SYMBOL_NO_BUILD_ID);
  check_only_reason(in_dir("prog"), in_dir("named"), HWI_SYMBOL_NO_BUILD_ID);
  check_only_reason(in_dir("prog"), in_dir("empty_root"), HWI_SYMBOL_NO_FILE);
  check_only_reason(in_dir("prog"), NULL, HWI_SYMBOL_NO_FILE);
  check_only_reason("", in_dir("root"), HWI_SYMBOL_NO_FILE);
  check_only_reason(NULL, in_dir("root"), HWI_SYMBOL_NO_FILE);
}

static void what_cannot_be_opened_has_a_reason(void **state)
{
  (void)state;
  build("-g");
  shell("rm -f fifo && mkfifo fifo && mkdir -p folder && echo text >text && ln -sf loop loop && : >empty");
  check_only_reason(in_dir("missing"), NULL, HWI_SYMBOL_NO_FILE);
  check_only_reason(in_dir("fifo"), NULL, HWI_SYMBOL_NO_FILE);
  check_only_reason(in_dir("folder"), NULL, HWI_SYMBOL_NO_FILE);
  check_only_reason(in_dir("loop"), NULL, HWI_SYMBOL_NO_FILE);
  check_only_reason("/dev/zero", NULL, HWI_SYMBOL_NO_FILE);
  check_only_reason("", NULL, HWI_SYMBOL_NO_FILE);
  check_only_reason(NULL, NULL, HWI_SYMBOL_NO_FILE);
  check_only_reason("[vdso]", NULL, HWI_SYMBOL_NO_FILE);
  check_only_reason("linux-vdso.so.1", NULL, HWI_SYMBOL_NO_FILE);
  check_only_reason(in_dir("text"), NULL, HWI_SYMBOL_NOT_ELF);
  check_only_reason(in_dir("empty"), NULL, HWI_SYMBOL_NOT_ELF);
}

/* libdw opens .dwo files itself, and would wait at a FIFO for ever. */
static void a_fifo_in_place_of_a_split_file_does_not_block(void **state)
{
  (void)state;
  build("-gdwarf-5 -gsplit-dwarf");
  shell("rm -f *.dwo && mkfifo prog-prog.dwo prog.dwo");
  struct hwi_symbols *symbols = new_symbols(NULL);
  const struct hwi_symbol *frames;
  alarm(20);
  find(symbols, in_dir("prog"), AT_TOP, &frames);
  alarm(0);
  assert_string_equal(frames[0].function, "top()");
  assert_int_equal(frames[0].line, 6);
  hwi_symbols_destroy(symbols);
  shell("rm -f *.dwo");
}

static void answers_and_strings_are_kept(void **state)
{
  (void)state;
  build("-g");
  struct hwi_symbols *symbols = new_symbols(NULL);
  const struct hwi_symbol *first, *again, *other;
  find(symbols, in_dir("prog"), AT_ADD, &first);
  find(symbols, in_dir("prog"), AT_CALL, &other);
  find(symbols, in_dir("prog"), AT_ADD, &again);
  assert_ptr_equal(first, again);
  assert_ptr_equal(first[0].file, other[0].file);
  struct hwi_symbol_module moved = {.path = in_dir("prog"), .bias = 0x7000000000};
  assert_int_equal(hwi_symbols_find(symbols, &moved, program_addresses[AT_ADD] + moved.bias, true, &again), 1);
  assert_ptr_equal(first, again);
  assert_int_equal(hwi_symbols_find(symbols, NULL, 1234, true, &again), 1);
  assert_int_equal(again[0].reason, HWI_SYMBOL_NO_MODULE);
  hwi_symbols_destroy(symbols);
}

/* A server that does not answer would make every report wait. */
static void no_server_is_asked(void **state)
{
  (void)state;
  int server = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t bytes = sizeof address;
  assert_int_equal(bind(server, (struct sockaddr *)&address, sizeof address), 0);
  assert_int_equal(listen(server, 8), 0);
  assert_int_equal(getsockname(server, (struct sockaddr *)&address, &bytes), 0);
  char url[64];
  snprintf(url, sizeof url, "http://127.0.0.1:%d", ntohs(address.sin_port));
  uint8_t build_id[PROGRAM_BUILD_ID_BYTES];
  split_by_build_id("-g -Wl,--build-id=sha1", build_id);
  setenv("DEBUGINFOD_URLS", url, 1);
  setenv("DEBUGINFOD_TIMEOUT", "2", 1);
  check_only_reason(in_dir("prog"), NULL, HWI_SYMBOL_STRIPPED);
  unsetenv("DEBUGINFOD_URLS");
  assert_int_equal(accept(server, NULL, NULL), -1);
  assert_int_equal(errno, EAGAIN);
  close(server);
}

static void every_reason_has_words(void **state)
{
  (void)state;
  for (int i = HWI_SYMBOL_OK; i <= HWI_SYMBOL_NO_MEMORY; i++) {
    for (int j = HWI_SYMBOL_OK; j < i; j++)
      assert_string_not_equal(hwi_symbol_reason_text(i), hwi_symbol_reason_text(j));
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_kind_of_debug_information_is_read),
      cmocka_unit_test(clang_is_understood),
      cmocka_unit_test(a_relative_compilation_directory_is_made_plain),
      cmocka_unit_test(a_compilation_directory_that_was_cut_off_is_not_repeated),
      cmocka_unit_test(a_public_alias_is_preferred),
      cmocka_unit_test(a_symbol_table_gives_names_without_lines),
      cmocka_unit_test(a_stripped_file_keeps_its_exported_names),
      cmocka_unit_test(a_debug_file_is_found_by_build_id),
      cmocka_unit_test(a_debug_file_is_enough),
      cmocka_unit_test(a_copy_of_the_program_distinguishes_its_functions),
      cmocka_unit_test(a_debug_file_is_found_by_debuglink),
      cmocka_unit_test(packed_symbols_are_read),
      cmocka_unit_test(an_alternate_file_is_read),
      cmocka_unit_test(another_build_is_not_used),
      cmocka_unit_test(a_replaced_file_needs_a_build_id),
      cmocka_unit_test(a_copy_without_a_build_id_is_not_used),
      cmocka_unit_test(what_cannot_be_opened_has_a_reason),
      cmocka_unit_test(a_fifo_in_place_of_a_split_file_does_not_block),
      cmocka_unit_test(answers_and_strings_are_kept),
      cmocka_unit_test(no_server_is_asked),
      cmocka_unit_test(every_reason_has_words),
  };
  return cmocka_run_group_tests(tests, make_program_dir, remove_program_dir);
}
