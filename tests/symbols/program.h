/* program.h - small programs for the tests of symbols: written, compiled, run and looked up */
#ifndef TESTS_SYMBOLS_PROGRAM_H
#define TESTS_SYMBOLS_PROGRAM_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "symbols/symbols.h"

enum {
  PROGRAM_COMMAND_BYTES = 4096,
  PROGRAM_ADDRESSES = 16,
  PROGRAM_PATH_BYTES = 512,
  PROGRAM_PATHS = 64,
  PROGRAM_BUILD_ID_BYTES = 20
};

/* Each test program has its own folder, which is removed at the end. */
static char program_dir[PROGRAM_PATH_BYTES];

/* Where the program calls here(), in the order of its calls: return addresses. */
static uint64_t program_addresses[PROGRAM_ADDRESSES];
static size_t program_address_count;

/* Runs a shell command in the folder. Returns its exit status. */
__attribute__((format(printf, 1, 2))) static inline int try_shell(const char *format, ...)
{
  char command[PROGRAM_COMMAND_BYTES];
  int prefix = snprintf(command, sizeof command, "cd '%s' && ", program_dir);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(command + prefix, sizeof command - (size_t)prefix, format, arguments);
  va_end(arguments);
  return system(command);
}

#define shell(...) assert_int_equal(try_shell(__VA_ARGS__), 0)

/* Returns the path of a file in the folder; it is valid until the end. */
static inline const char *in_dir(const char *name)
{
  static char paths[PROGRAM_PATHS][PROGRAM_PATH_BYTES * 2];
  char path[PROGRAM_PATH_BYTES * 2];
  snprintf(path, sizeof path, "%s/%s", program_dir, name);
  size_t at = 0;
  while (at < PROGRAM_PATHS - 1 && paths[at][0] && strcmp(paths[at], path) != 0)
    at++;
  memcpy(paths[at], path, sizeof path);
  return paths[at];
}

static inline void write_source(const char *name, const char *text)
{
  FILE *file = fopen(in_dir(name), "w");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0);
  assert_int_equal(fclose(file), 0);
}

/* Runs the program, which prints one address per line. */
static inline void run_program(const char *name)
{
  FILE *pipe = popen(in_dir(name), "r");
  assert_non_null(pipe);
  char line[64];
  program_address_count = 0;
  while (program_address_count < PROGRAM_ADDRESSES && fgets(line, sizeof line, pipe))
    program_addresses[program_address_count++] = strtoull(line, NULL, 16);
  assert_int_equal(pclose(pipe), 0);
}

/* Returns the build ID that the linker gave to a file. */
static inline void read_build_id(const char *name, uint8_t build_id[PROGRAM_BUILD_ID_BYTES])
{
  char command[PROGRAM_COMMAND_BYTES], digits[3] = "";
  snprintf(command, sizeof command, "LC_ALL=C readelf -n '%s' | sed -n 's/.*Build ID: //p'", in_dir(name));
  FILE *pipe = popen(command, "r");
  assert_non_null(pipe);
  for (size_t i = 0; i < PROGRAM_BUILD_ID_BYTES; i++) {
    assert_int_equal(fread(digits, 1, 2, pipe), 2);
    build_id[i] = (uint8_t)strtoul(digits, NULL, 16);
  }
  pclose(pipe);
}

static inline int make_program_dir(void **state)
{
  (void)state;
  const char *temp = getenv("TMPDIR");
  snprintf(program_dir, sizeof program_dir, "%s/heapwright-symbols-XXXXXX", temp ? temp : "/tmp");
  return mkdtemp(program_dir) ? 0 : -1;
}

static inline int remove_program_dir(void **state)
{
  (void)state;
  char command[PROGRAM_COMMAND_BYTES];
  snprintf(command, sizeof command, "rm -rf '%s'", program_dir);
  return system(command);
}

static inline struct hwi_symbols *new_symbols(const char *debug_dir)
{
  struct hwi_symbols *symbols;
  assert_int_equal(hwi_symbols_create(&symbols, NULL), 0);
  if (debug_dir)
    assert_int_equal(hwi_symbols_add_debug_dir(symbols, debug_dir, NULL), 0);
  return symbols;
}

#endif
