/* odd_stacks.c - allocates in places where stacks are odd: contexts, signal handlers, code without CFI, vfork
 * Usage: odd_stacks KIND. Every kind allocates known sizes from known functions. */
#define _GNU_SOURCE
#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "generated_code.h"

#define NOINLINE __attribute__((noinline, noclone))

static void *volatile sink;

NOINLINE static void get(size_t size)
{
  sink = malloc(size);
  free(sink);
}

/* --- contexts: two coroutines and main alternate --- */

static ucontext_t main_context, coroutines[2];

NOINLINE static void in_coroutine(size_t size)
{
  get(size);
}

static void coroutine(int which)
{
  for (int i = 0; i < 100; i++) {
    in_coroutine((size_t)(1001 + which));
    swapcontext(&coroutines[which], &main_context);
  }
}

NOINLINE static void run_contexts(void)
{
  for (int i = 0; i < 2; i++) {
    getcontext(&coroutines[i]);
    coroutines[i].uc_stack.ss_sp = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    coroutines[i].uc_stack.ss_size = 65536;
    coroutines[i].uc_link = &main_context;
    makecontext(&coroutines[i], (void (*)(void))coroutine, 1, i);
  }
  for (int i = 0; i < 100; i++) {
    get(1000);
    swapcontext(&main_context, &coroutines[0]);
    swapcontext(&main_context, &coroutines[1]);
  }
}

/* --- a signal handler on an alternate stack, and one on the same --- */

NOINLINE static void in_handler(int signal)
{
  get(signal == SIGUSR1 ? 2001 : 2002);
}

NOINLINE static void interrupted(int signal)
{
  raise(signal);
  sink = NULL;
}

NOINLINE static void run_signals(void)
{
  stack_t stack = {.ss_sp = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
                   .ss_size = 65536};
  sigaltstack(&stack, NULL);
  sigaction(SIGUSR1, &(struct sigaction){.sa_handler = in_handler, .sa_flags = SA_ONSTACK}, NULL);
  sigaction(SIGUSR2, &(struct sigaction){.sa_handler = in_handler}, NULL);
  for (int i = 0; i < 100; i++) {
    interrupted(SIGUSR1);
    get(2000);
    interrupted(SIGUSR2);
  }
}

/* --- generated code without CFI, with and without a frame pointer --- */

typedef void generated(void (*)(size_t), size_t);

NOINLINE static void call_generated(generated *code, size_t size)
{
  code(get, size);
  sink = NULL;
}

NOINLINE static void get_3006(size_t unused)
{
  (void)unused;
  get(3006);
  sink = NULL;
}

NOINLINE static void get_3009(size_t unused)
{
  (void)unused;
  get(3009);
  sink = NULL;
}

/* Generated code calls generated code, with its second argument in place of both arguments. */
NOINLINE static void call_twice(generated *code)
{
  code((void (*)(size_t))(void *)code, (size_t)get_3006);
  sink = NULL;
}

/* The same, from code that has `other` in place of a frame pointer. */
NOINLINE static void call_from_other(void (*from)(void (*)(size_t), size_t, uintptr_t), generated *code,
                                     uintptr_t other)
{
  from((void (*)(size_t))(void *)code, (size_t)get_3009, other);
  sink = NULL;
}

NOINLINE static void run_generated(void)
{
  uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  copy_code(page, code_with_pointer, sizeof code_with_pointer);
  copy_code(page + 64, code_without, sizeof code_without);
  copy_code(page + 128, code_of_pointer, sizeof code_of_pointer);
  for (int i = 0; i < 100; i++) {
    call_generated((generated *)(void *)page, 3001);
    call_generated((generated *)(void *)(page + 64), 3002);
    call_twice((generated *)(void *)page);
    call_from_other((void (*)(void (*)(size_t), size_t, uintptr_t))(void *)(page + 128), (generated *)(void *)page, 8);
  }
}

/* --- generated code that leaves garbage where a frame pointer would be --- */

NOINLINE static void run_garbage(void)
{
  uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  copy_code(page, code_of_pointer, sizeof code_of_pointer);
  void (*run)(void (*)(size_t), size_t, uintptr_t) = (void (*)(void (*)(size_t), size_t, uintptr_t))(void *)page;
  uint64_t x = 1;
  for (int i = 0; i < 20000; i++) {
    x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    uintptr_t here = (uintptr_t)&x;
    uintptr_t garbage[] = {x, x >> 17, here + (x >> 44), here - (x >> 44), here + (x >> 40 & ~UINT64_C(7)), here | 7,
                           0, 8};
    run(get, 3003, garbage[i % 8]);
  }
}

/* --- generated code that has a pointer to an array of pointers to data where a frame pointer would be --- */

NOINLINE static void run_pointers(void)
{
  static uint8_t own[128];
  uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  uint8_t *data = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  copy_code(page, code_of_pointer, sizeof code_of_pointer);
  void (*run)(void (*)(size_t), size_t, void *) = (void (*)(void (*)(size_t), size_t, void *))(void *)page;
  void *volatile to_data[2] = {data, data + 64}, *volatile to_own[2] = {own, own + 64};
  for (int i = 0; i < 100; i++) {
    run(get, 3007, (void *)to_data);
    run(get, 3008, (void *)to_own);
  }
}

/* --- a child of vfork allocates in its parent's memory --- */

NOINLINE static void run_vfork(void)
{
  for (int i = 0; i < 10; i++) {
    pid_t child = vfork();
    if (!child) {
      get(4001);
      execl("/bin/true", "true", (char *)NULL);
      _exit(1);
    }
    waitpid(child, NULL, 0);
    get(4000);
  }
}

/* --- frames of changing size, realigned frames --- */

NOINLINE static void with_alloca(int n)
{
  volatile char *room = alloca((size_t)(16 + 64 * n));
  room[0] = 1;
  get(5001);
}

NOINLINE static void realigned(int n)
{
  _Alignas(64) volatile char room[64];
  room[n % 64] = 1;
  get(5002);
}

NOINLINE static void run_frames(void)
{
  for (int i = 0; i < 200; i++) {
    with_alloca(i % 7);
    realigned(i);
  }
}

/* --- threads that outlive main --- */

static void *outlive(void *argument)
{
  usleep(20000);
  for (int i = 0; i < 100; i++)
    get(6001);
  return argument;
}

NOINLINE static void run_orphans(void)
{
  pthread_t id;
  for (int i = 0; i < 3; i++)
    pthread_create(&id, NULL, outlive, NULL);
  pthread_exit(NULL);
}

int main(int argc, char **argv)
{
  const struct {
    const char *name;
    void (*run)(void);
  } kinds[] = {{"contexts", run_contexts}, {"signals", run_signals},   {"generated", run_generated},
               {"garbage", run_garbage},   {"pointers", run_pointers}, {"vfork", run_vfork},
               {"frames", run_frames},     {"orphans", run_orphans}};
  for (size_t i = 0; argc > 1 && i < sizeof kinds / sizeof *kinds; i++)
    if (!strcmp(argv[1], kinds[i].name))
      kinds[i].run();
  return 0;
}
