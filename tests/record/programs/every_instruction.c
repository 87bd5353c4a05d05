/* every_instruction.c - a program that is interrupted at each instruction of the recorder in its calls of malloc and
 * free
 *
 * The trap flag shows which instructions a call executes. Then each of them becomes a breakpoint for one more such
 * call. It must run on ring_allocator.c, which may be interrupted anywhere. The first argument says what the handler
 * does there:
 *   allocate   allocates and frees, at every single step of the calls
 *   jump       leaves the call by siglongjmp
 *   again      the same, in a call that was to clean up after an abandoned one
 *   fork       forks; the child goes on where it was, allocates and ends with status 7
 *   pause      switches the recording off or on
 *   full       allocates until the trace is full, in a child each time
 * The second argument is the trace. The third, N, makes it visit only every N-th instruction (not with `allocate`). The
 * output is how often each size was allocated, how many instructions were visited, and how many were stepped through.
 * The exit status is 77 if single steps are not possible on this machine.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "stepping.h"
#include "trace/format.h"

enum { STEPPED = 301, NESTED, AFTER, SILENT, OF_CHILD, SIZES };
enum { NO_TRAP_FLAG = 77, CHILD_STATUS = 7, SOME_ERRNO = 4711, BREAKPOINT = 0xcc };
enum { STACK_BYTES = 1 << 16, MOST_CODE = 1 << 20 };

static volatile struct hw_trace_header *header; /* of this image's trace, if it is needed */
static _Atomic long counts[SIZES - STEPPED];
static volatile long steps, visits;
static uint32_t stride; /* of the instructions that are visited */
static volatile bool is_child;
static sigjmp_buf back;

static void fail(const char *why)
{
  (void)!write(2, why, strlen(why));
  (void)!write(2, "\n", 1);
  _exit(1);
}

/* --- calls --- */

/* None of these is inlined or merged with another: each has a frame. */
#define FRAME __attribute__((noipa))

static FRAME void pair(int size)
{
  errno = SOME_ERRNO;
  void *volatile block = malloc((size_t)size);
  counts[size - STEPPED]++;
  if (errno != SOME_ERRNO)
    fail("malloc changed errno");
  free(block);
  if (errno != SOME_ERRNO)
    fail("free changed errno");
}

static void usual(void)
{
  pair(STEPPED);
}

/* Makes a new stack: the bits of `path` say which line calls. */
static FRAME void on_path(unsigned path, int levels)
{
  if (!levels)
    pair(STEPPED);
  else if (path & 1)
    on_path(path >> 1, levels - 1);
  else
    on_path(path >> 1, levels - 1);
  __asm__ volatile("" ::: "memory");
}

static void on_new_path(void)
{
  enum { LEVELS = 16 };
  static unsigned path;
  on_path(path++, LEVELS);
}

static void move(void)
{
  void *volatile block = malloc(NESTED);
  counts[NESTED - STEPPED]++;
  errno = SOME_ERRNO;
  block = realloc(block, STEPPED);
  counts[0]++;
  if (errno != SOME_ERRNO)
    fail("realloc changed errno");
  free(block);
}

/* This event takes the most room of all. */
static void ask_too_much(void)
{
  void *volatile block = malloc((size_t)1 << 62);
  if (block)
    fail("there was memory");
}

static void (*const subjects[])(void) = {usual, on_new_path, move, ask_too_much};
enum { SUBJECTS = sizeof subjects / sizeof *subjects };

/* --- the instructions of the recorder --- */

static struct {
  uint8_t *start, *end;
} code;
static bool is_met[MOST_CODE]; /* an instruction that begins here was executed */
static uint32_t met[MOST_CODE], met_count;
static uint8_t *volatile armed, original;
static void (*act)(ucontext_t *context), (*act_at_each_step)(ucontext_t *context);

static int find_code(struct dl_phdr_info *info, size_t bytes, void *address)
{
  (void)bytes;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    uint8_t *start = (uint8_t *)info->dlpi_addr + segment->p_vaddr;
    if (segment->p_type != PT_LOAD || (uint8_t *)address < start || (uint8_t *)address >= start + segment->p_memsz)
      continue;
    code.start = (uint8_t *)((uintptr_t)start & ~(uintptr_t)4095);
    code.end = start + segment->p_memsz;
    return 1;
  }
  return 0;
}

static void note_instruction(uint8_t *pc)
{
  size_t at = (size_t)(pc - code.start);
  if (pc < code.start || pc >= code.end || is_met[at])
    return;
  is_met[at] = true;
  met[met_count++] = (uint32_t)at;
}

static void disarm(void)
{
  if (armed)
    *armed = original;
  armed = NULL;
}

/* Calls the subject until it executes that instruction; work for a new stack is only done the first time. */
static void run_to(uint32_t at, void (*subject)(void))
{
  enum { CALLS = 2 };
  armed = code.start + at;
  original = *armed;
  *armed = BREAKPOINT;
  for (volatile int i = 0; i < CALLS && armed; i++)
    subject();
  disarm();
}

static void on_trap(int number, siginfo_t *info, void *argument)
{
  (void)number, (void)info;
  int before = errno;
  ucontext_t *context = argument;
  greg_t *pc = &context->uc_mcontext.gregs[REG_RIP];
  if (is_stepping) {
    steps++;
    note_instruction((uint8_t *)*pc);
    if (act_at_each_step)
      act_at_each_step(context);
  } else {
    *pc = (greg_t)armed;
    disarm();
    visits++;
    act(context);
  }
  errno = before;
}

/* Finds which instructions it executes. */
static FRAME void step_through(void (*subject)(void))
{
  begin_stepping();
  subject();
  end_stepping();
}

static FRAME void learn(void (*before)(void), void (*subject)(void))
{
  enum { ROUNDS = 2 }; /* some work is done only once */
  memset(is_met, 0, sizeof is_met);
  met_count = 0;
  for (volatile int i = 0; i < ROUNDS; i++) { /* an unrolled loop would call from more than one line */
    before();
    step_through(subject);
    pair(AFTER);
  }
}

/* --- the handler --- */

static void allocate(ucontext_t *context)
{
  (void)context;
  pair(NESTED);
}

static void leave(ucontext_t *context)
{
  (void)context;
  siglongjmp(back, 1);
}

static void make_child(ucontext_t *context)
{
  (void)context;
  int status = 0;
  pid_t child = _Fork();
  is_child = child == 0;
  if (is_child)
    return;
  counts[OF_CHILD - STEPPED]++;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != CHILD_STATUS)
    fail("a child did not end as it should");
}

static void toggle(ucontext_t *context)
{
  (void)context;
  __atomic_store_n(&header->control, header->control ^ HW_CONTROL_PAUSE, __ATOMIC_RELAXED);
}

static void fill(ucontext_t *context)
{
  (void)context;
  while (__atomic_load_n(&header->state, __ATOMIC_RELAXED) == HW_STATE_RECORDING)
    ask_too_much();
}

/* --- the modes --- */

static void nothing(void)
{}

/* Returns whether the call is abandoned there. */
static bool is_left(void (*subject)(void), uint32_t at)
{
  if (sigsetjmp(back, 1))
    return true;
  run_to(at, subject);
  return false;
}

static struct {
  uint32_t at[MOST_CODE], count, next;
} usually; /* the instructions of a usual call */

/* A call whose end is never seen; most are abandoned in the middle of an event. */
static void leave_one(void)
{
  act = leave;
  while (!is_left(usual, usually.at[usually.next++ % usually.count]))
    continue;
}

static void learn_usual(void)
{
  for (volatile int i = 0; i < 2; i++) /* work that is done only the first time is not useful */
    learn(nothing, usual);
  usually.count = met_count;
  memcpy(usually.at, met, sizeof met);
}

static void step_through_all(void)
{
  act_at_each_step = allocate;
  for (int i = 0; i < SUBJECTS; i++)
    learn(nothing, subjects[i]);
}

static void leave_everywhere(void)
{
  act = leave;
  for (int i = 0; i < SUBJECTS; i++) {
    learn(nothing, subjects[i]);
    for (volatile uint32_t k = 0; k < met_count; k += stride) {
      is_left(subjects[i], met[k]);
      pair(AFTER);
      pair(AFTER);
    }
  }
}

static void leave_twice(void)
{
  learn_usual();
  learn(leave_one, usual);
  for (volatile uint32_t k = 0; k < met_count; k += stride) {
    leave_one();
    is_left(usual, met[k]);
    pair(AFTER);
    pair(AFTER);
  }
}

static void fork_everywhere(void)
{
  act = make_child;
  for (int i = 0; i < SUBJECTS; i++) {
    learn(nothing, subjects[i]);
    for (uint32_t k = 0; k < met_count; k += stride) {
      run_to(met[k], subjects[i]);
      if (is_child) {
        pair(OF_CHILD);
        _exit(CHILD_STATUS);
      }
      pair(AFTER);
    }
  }
}

static void map_header(const char *trace)
{
  int fd = open(trace, O_RDWR | O_CLOEXEC);
  header = mmap(NULL, HW_TRACE_HEADER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (header == MAP_FAILED)
    fail("the trace is not there");
  close(fd);
}

static void control(uint32_t word)
{
  __atomic_store_n(&header->control, word, __ATOMIC_RELAXED);
}

static void switch_everywhere(const char *trace)
{
  map_header(trace);
  learn_usual();
  act = toggle;
  for (uint32_t k = 0; k < usually.count; k += stride)
    for (uint32_t word = HW_CONTROL_RECORD; word <= HW_CONTROL_PAUSE; word++) {
      control(word);
      run_to(usually.at[k], usual);
      control(HW_CONTROL_PAUSE);
      pair(SILENT);
      control(HW_CONTROL_RECORD);
      pair(AFTER);
    }
}

/* In a child, whose own trace is nearly full before the call. */
static void fill_at(const char *trace, uint32_t at)
{
  enum { LITTLE = 160 << 10 }; /* less than the largest chunk */
  char own[4096];
  pair(OF_CHILD);
  snprintf(own, sizeof own, "%s.children/%s.%d.hwt", trace, program_invocation_short_name, (int)getpid());
  map_header(own);
  while (header->window_bytes - header->used_bytes > LITTLE && header->state == HW_STATE_RECORDING)
    ask_too_much();
  visits = 0;
  run_to(at, usual);
  pair(AFTER);
  _exit(!visits ? 0 : header->state != HW_STATE_RECORDING ? CHILD_STATUS : 1);
}

static void fill_everywhere(const char *trace)
{
  learn_usual();
  act = fill;
  for (uint32_t k = 0; k < usually.count; k += stride) {
    int status = 0;
    pid_t child = fork();
    if (child == 0)
      fill_at(trace, usually.at[k]);
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) == 1)
      fail("a child did not end as it should");
    visits += WEXITSTATUS(status) == CHILD_STATUS;
  }
}

static void begin(void)
{
  void *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = STACK_BYTES}, NULL);
  sigaction(SIGTRAP, &action, NULL);
  dl_iterate_phdr(find_code, dlsym(RTLD_DEFAULT, "malloc"));
  if ((size_t)(code.end - code.start) > MOST_CODE)
    exit(NO_TRAP_FLAG); /* an instrumented build */
  if (mprotect(code.start, (size_t)(code.end - code.start), PROT_READ | PROT_WRITE | PROT_EXEC))
    exit(NO_TRAP_FLAG); /* a kernel that does not allow code to be changed */
  pair(AFTER);
  step_through(nothing);
  if (!steps)
    exit(NO_TRAP_FLAG);
}

int main(int argc, char **argv)
{
  const char *how = argc == 4 ? argv[1] : "";
  stride = argc == 4 ? (uint32_t)atol(argv[3]) : 1;
  begin();
  if (!strcmp(how, "allocate"))
    step_through_all();
  else if (!strcmp(how, "jump"))
    leave_everywhere();
  else if (!strcmp(how, "again"))
    leave_twice();
  else if (!strcmp(how, "fork"))
    fork_everywhere();
  else if (!strcmp(how, "pause"))
    switch_everywhere(argv[2]);
  else if (!strcmp(how, "full"))
    fill_everywhere(argv[2]);
  else
    return 2;
  for (int size = STEPPED; size < SIZES; size++)
    printf("%ld ", counts[size - STEPPED]);
  printf("%ld %ld\n", (long)visits, (long)steps);
  return 0;
}
