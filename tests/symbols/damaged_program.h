/* damaged_program.h - a program's file, written over and cut short: what reads it must survive that */
#ifndef TESTS_SYMBOLS_DAMAGED_PROGRAM_H
#define TESTS_SYMBOLS_DAMAGED_PROGRAM_H

#include "program.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DAMAGED_SECONDS = 60 /* for one file */ };

/* The file that is damaged. */
static unsigned char *whole;
static size_t whole_bytes;

static void read_whole(const char *name)
{
  FILE *file = fopen(in_dir(name), "rb");
  assert_non_null(file);
  fseek(file, 0, SEEK_END);
  whole_bytes = (size_t)ftell(file);
  rewind(file);
  whole = realloc(whole, whole_bytes);
  assert_int_equal(fread(whole, 1, whole_bytes, file), whole_bytes);
  fclose(file);
}

/* Writes the file "damaged". */
static void write_damaged(const unsigned char *bytes, size_t count)
{
  FILE *file = fopen(in_dir("damaged"), "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, count, file), count);
  fclose(file);
}

static uint32_t damaged_seed = 12345;

static uint32_t any(void)
{
  damaged_seed = damaged_seed * 1664525 + 1013904223;
  return damaged_seed >> 8;
}

/* Calls `ask` in a child, where it must return 0: a crash is a failed test with its signal, and the other tests go on. */
static void ask_aside(int (*ask)(void *context), void *context, const char *what, unsigned long number)
{
  const pid_t child = fork();
  int status;
  assert_true(child >= 0);
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL); /* cmocka would go on with the next test */
    alarm(DAMAGED_SECONDS);
    _exit(ask(context));
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  if (status != 0)
    print_error("%s %lu: wait status %#x\n", what, number, status);
  assert_int_equal(status, 0);
}

/* Calls it for the file cut short at each of `cuts` places, and for the whole one. */
static void ask_cut_short(int (*ask)(void *context), void *context, unsigned long cuts)
{
  for (unsigned long i = 0; i <= cuts; i++) {
    write_damaged(whole, whole_bytes * i / cuts);
    ask_aside(ask, context, "cut", i);
  }
}

#endif
