/* kinds.c - ends in the way that is named, C or C++; a line with a call or a crash ends with the name of its function */
#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FUNCTION __attribute__((noinline)) static

struct item {
  struct item *next;
  long numbers[4];
};

static void *kept[8];
static struct item *volatile none;
static char *volatile constant = (char *)"of the program, and not writable";
static volatile int zero, sink;

FUNCTION void read_null(void)
{
  sink = (int)none->numbers[2]; /* read_null */
}

FUNCTION void write_constant(void)
{
  *constant = 0; /* write_constant */
  sink = 1;
}

FUNCTION void call_block(void)
{
  void (*function)(void);
  memcpy(&function, &kept[0], sizeof function);
  function(); /* call_block */
  sink = 1;
}

FUNCTION void call_null(void)
{
  void (*volatile function)(void) = NULL;
  function(); /* call_null */
  sink = 1;
}

FUNCTION void free_twice(void)
{
  void *volatile block = kept[1];
  free(block);
  free(block); /* free_twice */
  sink = 1;
}

FUNCTION void fail_assertion(void)
{
  assert(zero == 1); /* fail_assertion */
  sink = 1;
}

FUNCTION void call_abort(void)
{
  abort(); /* call_abort */
}

FUNCTION void divide(void)
{
  sink = 7 / zero; /* divide */
}

#if defined __x86_64__
#define INVALID_INSTRUCTION "ud2"
#elif defined __aarch64__
#define INVALID_INSTRUCTION "udf 0"
#endif

FUNCTION void be_invalid(void)
{
  __asm__ volatile(INVALID_INSTRUCTION); /* be_invalid */
  sink = 1;
}

FUNCTION int recurse(volatile int *above)
{
  volatile int below[200];
  below[0] = *above;
  return recurse(below) + below[0]; /* recurse */
}

FUNCTION void overflow_stack(void)
{
  sink = 1;
  sink = recurse(&sink); /* overflow_stack */
}

FUNCTION void read_behind_file(void)
{
  FILE *file = tmpfile();
  const int fd = fileno(file);
  (void)!ftruncate(fd, 8192);
  char *mapped = (char *)mmap(NULL, 8192, PROT_READ, MAP_SHARED, fd, 0);
  (void)!ftruncate(fd, 0);
  sink = mapped[4096]; /* read_behind_file */
}

/* Where the kernel does not say which address was accessed. */
FUNCTION void follow_text(void)
{
  struct item *item = (struct item *)kept[2];
  memcpy(&item->next, "ABCDEFGH", sizeof item->next);
  sink = (int)item->next->numbers[2]; /* follow_text */
}

FUNCTION void get_signal(void)
{
  kill(getpid(), SIGQUIT); /* get_signal */
  sink = 1;
}

#ifdef __cplusplus
#include <stdexcept>
FUNCTION void throw_exception(void)
{
  if (zero == 0)
    throw std::out_of_range("nothing catches it"); /* throw_exception */
  sink = 1;
}

FUNCTION void throw_in_noexcept(void) noexcept
{
  throw_exception(); /* throw_in_noexcept */
  sink = 1;
}

FUNCTION void terminate(void)
{
  std::terminate(); /* terminate */
}
#else
#define throw_exception abort
#define throw_in_noexcept abort
#define terminate abort
#endif

static const struct {
  const char *name;
  void (*end)(void);
} ends[] = {{"read", read_null},       {"write", write_constant},      {"jump", call_block},
            {"jump-null", call_null},  {"check", free_twice},          {"assertion", fail_assertion},
            {"abort", call_abort},     {"division", divide},           {"instruction", be_invalid},
            {"stack", overflow_stack}, {"file", read_behind_file},     {"text", follow_text},
            {"signal", get_signal},    {"exception", throw_exception}, {"noexcept", throw_in_noexcept},
            {"terminate", terminate}};

int main(int count, char **words)
{
  for (int i = 0; i < 8; i++)
    kept[i] = memset(malloc(100), 0, 100);
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
    if (count > 1 && strcmp(ends[i].name, words[1]) == 0)
      ends[i].end(); /* main */
  return sink;
}
