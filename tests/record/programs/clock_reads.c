/* clock_reads.c - steps through calls of malloc and related functions, and prints how each reads the clock: a line for
 * each call, with the reads of the time stamp counter, the fences and the calls of libc's functions in their order
 *
 * With the argument `threads` there is another thread. The exit status is 77 if single steps are not possible on this
 * machine.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "stepping.h"

enum { MOST_SEEN = 64, NO_TRAP_FLAG = 77, BYTES = 100, MORE_BYTES = 200 };

/* What is searched for: an address, or an instruction if that is NULL. */
static struct {
  const char *name;
  const void *address;
  unsigned char bytes[3];
  size_t count;
} sights[] = {{"rdtsc", NULL, {0x0f, 0x31}, 2},
              {"rdtscp", NULL, {0x0f, 0x01, 0xf9}, 3},
              {"lfence", NULL, {0x0f, 0xae, 0xe8}, 3},
              {"malloc", NULL, {0}, 0},
              {"calloc", NULL, {0}, 0},
              {"realloc", NULL, {0}, 0},
              {"free", NULL, {0}, 0}};
enum { SIGHTS = sizeof sights / sizeof *sights, FIRST_FUNCTION = 3 };

static volatile int seen[MOST_SEEN], seen_count, steps;

static void on_trap(int number, siginfo_t *info, void *context)
{
  (void)number, (void)info;
  const unsigned char *pc = (const unsigned char *)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
  steps++;
  for (int i = 0; i < SIGHTS && seen_count < MOST_SEEN; i++)
    if (sights[i].address ? pc == sights[i].address : sights[i].count && !memcmp(pc, sights[i].bytes, sights[i].count))
      seen[seen_count++] = i;
}

static void *(*new_block)(size_t);
static void (*delete_block)(void *);
static void *volatile block;

static void call_malloc(void)
{
  block = malloc(BYTES);
}
static void call_free(void)
{
  free(block);
}
static void call_calloc(void)
{
  block = calloc(1, BYTES);
}
static void call_realloc(void)
{
  block = realloc(block, MORE_BYTES);
}
static void call_too_much(void)
{
  block = malloc((size_t)1 << 62);
}
static void call_new(void)
{
  block = new_block(BYTES);
}
static void call_delete(void)
{
  delete_block(block);
}

static const struct {
  const char *name;
  void (*call)(void);
} calls[] = {{"malloc", call_malloc}, {"realloc", call_realloc}, {"free", call_free},     {"calloc", call_calloc},
             {"free", call_free},     {"new", call_new},         {"delete", call_delete}, {"too much", call_too_much}};
enum { CALLS = sizeof calls / sizeof *calls };

static void step_through(void (*call)(void))
{
  seen_count = 0;
  begin_stepping();
  call();
  end_stepping();
}

static void say(const char *name)
{
  printf("%s:", name);
  for (int i = 0; i < seen_count; i++)
    printf(" %s", sights[seen[i]].name);
  printf("\n");
}

static void *wait_for_ever(void *unused)
{
  pause();
  return unused;
}

int main(int argc, char **argv)
{
  static char buffer[4096];
  struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
  pthread_t thread;
  void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  sigaction(SIGTRAP, &action, NULL);
  setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
  for (int i = FIRST_FUNCTION; i < SIGHTS; i++)
    sights[i].address = dlsym(libc, sights[i].name);
  new_block = (void *(*)(size_t))dlsym(RTLD_DEFAULT, "_Znwm");
  delete_block = (void (*)(void *))dlsym(RTLD_DEFAULT, "_ZdlPv");
  if (argc > 1 && !strcmp(argv[1], "threads"))
    pthread_create(&thread, NULL, wait_for_ever, NULL);
  enum { ROUNDS = 3 }; /* much is done only the first time */
  for (volatile int round = 0; round < ROUNDS; round++)
    for (volatile int i = 0; i < CALLS; i++) {
      step_through(calls[i].call);
      if (round == ROUNDS - 1)
        say(calls[i].name);
    }
  return steps ? 0 : NO_TRAP_FLAG;
}
