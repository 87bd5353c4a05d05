/* test_heap_without_lock_x86_64.c - each instruction of calls on a heap without a lock
 *
 * Breaks if one of them is atomic, although the call needs no address space; or if the call does not go on, in the parent and in the child,
 * when a signal handler forks between any two of them.
 */
#include "new_heap.h"

#include <signal.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "../record/programs/stepping.h"

enum { PATIENCE_S = 60 };

static volatile int steps, atomic_steps, fork_at;
static volatile bool has_forked;
static volatile pid_t forked;

/* --- which instructions are atomic --- */

static bool is_prefix(unsigned char byte)
{
  static const unsigned char prefixes[] = {0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf2, 0xf3};
  return memchr(prefixes, byte, sizeof prefixes);
}

/* The prefix of a lock, or an exchange with memory, which needs none. */
static bool is_atomic(const unsigned char *code)
{
  enum { LOCK = 0xf0, REX = 0x40, REX_MASK = 0xf0, XCHG = 0x86, XCHG_MASK = 0xfe, MODES = 0xc0 };
  while (is_prefix(*code))
    code++;
  if (*code == LOCK)
    return true;
  if ((*code & REX_MASK) == REX)
    code++;
  return (*code & XCHG_MASK) == XCHG && (code[1] & MODES) != MODES;
}

static void count_step(int number, siginfo_t *info, void *argument)
{
  (void)number, (void)info;
  const ucontext_t *interrupted = argument;
  if (!is_stepping)
    return;
  steps++;
  atomic_steps += is_atomic((const unsigned char *)interrupted->uc_mcontext.gregs[REG_RIP]);
}

/* Blocks of new pages, and larger ones, which become longer and shorter. */
static bool use(struct hw_heap *heap)
{
  enum { BLOCKS = 40 };
  void *blocks[BLOCKS];
  for (size_t i = 0; i < BLOCKS; i++)
    if (!(blocks[i] = hw_heap_alloc(heap, i % 4 ? 4096 : 1000)))
      return false;
  void *longest = hw_heap_alloc(heap, 2 * MIB), *span = hw_heap_alloc(heap, 100000);
  bool is_right = span && longest && hw_heap_resize_in_place(heap, span, 300000);
  span = hw_heap_realloc(heap, span, 70000);
  is_right &= hw_heap_free(heap, span) == HW_HEAP_OK && hw_heap_free(heap, longest) == HW_HEAP_OK;
  for (size_t i = 0; i < BLOCKS; i++)
    is_right &= hw_heap_free(heap, blocks[i]) == HW_HEAP_OK;
  return is_right;
}

static void watch(void (*handler)(int, siginfo_t *, void *), struct sigaction *before)
{
  struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
  sigaction(SIGTRAP, &action, before);
}

/* Returns how many instructions are atomic. The heap has its first arena already. */
static int count_atomic(enum hw_heap_lock lock, enum hw_heap_returns returns)
{
  const struct hw_heap_config config = {.threads = HW_HEAP_SINGLE, .lock = lock, .returns = returns};
  struct hw_heap *heap = heap_with(&config);
  struct sigaction before;
  assert_non_null(hw_heap_alloc(heap, 1));
  watch(count_step, &before);
  steps = atomic_steps = 0;
  begin_stepping();
  bool is_right = use(heap);
  end_stepping();
  sigaction(SIGTRAP, &before, NULL);
  assert_true(is_right);
  assert_true(steps > 1000);
  expect_right(heap);
  assert_true(hw_heap_destroy(heap));
  return atomic_steps;
}

static void no_instruction_is_atomic(void **state)
{
  (void)state;
#ifdef HW_SANITIZED_THREAD
  skip(); /* it runs handlers later */
#endif
  static const enum hw_heap_returns returns[] = {HW_HEAP_RETURNS_LATER, HW_HEAP_RETURNS_AT_ONCE,
                                                 HW_HEAP_RETURNS_ON_COLLECT};
  for (size_t i = 0; i < COUNT(returns); i++) {
    assert_int_equal(count_atomic(HW_HEAP_LOCK_NONE, returns[i]), 0);
    assert_true(count_atomic(HW_HEAP_LOCK_ADAPTIVE, returns[i]) > 0);
  }
}

/* --- forks --- */

/* A handler that forks is not that of a signal which must be held for a lock (SIGTRAP is not). No more steps are needed then. */
static void fork_at_step(int number, siginfo_t *info, void *argument)
{
  (void)number, (void)info;
  ucontext_t *interrupted = argument;
  if (!is_stepping || ++steps < fork_at || has_forked || sigismember(&interrupted->uc_sigmask, SIGALRM))
    return;
  has_forked = true;
  interrupted->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
  forked = fork();
  if (!forked)
    alarm(PATIENCE_S);
}

/* Also with address space, which is taken and given back. */
static bool use_step_by_step(struct hw_heap *heap)
{
  begin_stepping();
  void *arena = hw_heap_alloc(heap, 2 * MIB), *large = hw_heap_alloc(heap, 3 * MIB);
  large = hw_heap_realloc(heap, large, 9 * MIB);
  hw_heap_free(heap, large);
  hw_heap_free(heap, arena);
  hw_heap_free(heap, hw_heap_alloc(heap, 5000));
  hw_heap_collect(heap);
  end_stepping();
  return arena && large && hw_heap_check(heap, NULL) == HW_HEAP_OK && used_bytes(heap) == 0 && use(heap);
}

/* Returns how many steps there are. */
static int count_all_steps(const struct hw_heap_config *config)
{
  struct hw_heap *heap = heap_with(config);
  steps = 0;
  has_forked = true;
  assert_true(use_step_by_step(heap));
  assert_true(hw_heap_destroy(heap));
  return steps;
}

static void a_handler_forks_in_a_call(void **state)
{
  (void)state;
#ifdef HW_SANITIZED_THREAD
  skip();
#endif
  enum { FORKS = 40 };
  const struct hw_heap_config config = {
      .threads = HW_HEAP_SINGLE, .lock = HW_HEAP_LOCK_NONE, .returns = HW_HEAP_RETURNS_AT_ONCE};
  struct sigaction before;
  watch(fork_at_step, &before);
  int stride = count_all_steps(&config) / FORKS, forks = 0; /* another heap may need fewer steps */
  for (int i = 0; i < FORKS; i++) {
    struct hw_heap *heap = heap_with(&config);
    int status = 0;
    has_forked = false;
    steps = 0;
    fork_at = 1 + i * stride;
    bool is_right = use_step_by_step(heap) && hw_heap_destroy(heap);
    if (has_forked && !forked)
      _exit(!is_right);
    if (!is_right)
      fail_msg("the parent, after step %d", fork_at);
    if (has_forked && (waitpid(forked, &status, 0) != forked || status != 0))
      fail_msg("the child of step %d: status %#x", fork_at, status);
    forks += has_forked;
  }
  sigaction(SIGTRAP, &before, NULL);
  assert_true(forks > FORKS / 2);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_instruction_is_atomic),
      cmocka_unit_test(a_handler_forks_in_a_call),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
