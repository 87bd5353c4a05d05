"""test_linked_callbacks.py - functions of the program that run in the middle of a call of an allocator that it has linked in

The allocator calls them, or a signal. Breaks if what they allocate and free is not recorded, or if a part of the call itself is
recorded, too.
"""

import pytest

from linked_programs import check_is_complete, file_of, recorded_counts

DEFERRED_FREE = r"""
#include <stdio.h>
#include <stdlib.h>
void mi_register_deferred_free(void (*function)(_Bool force, unsigned long long beat, void *argument), void *argument);
void *mi_malloc(size_t), *mi_realloc(void *, size_t), *mi_malloc_aligned(size_t, size_t);
void mi_free(void *);
enum { WAITING = 64 };
static void *volatile waiting[WAITING], *volatile kept; /* malloc is declared as calling nothing of this file */
static volatile int calls;
static void give_back(_Bool force, unsigned long long beat, void *argument)
{
  (void)force, (void)beat, (void)argument;
  if (calls++)
    return;
  for (int i = 0; i < WAITING; i++)
    mi_free(waiting[i]);
  kept = mi_malloc(1511);
  void *block = mi_malloc(1523);
  mi_free(mi_realloc(block, 60013));
}
int main(void)
{
  for (int i = 0; i < WAITING; i++)
    waiting[i] = mi_malloc(1013);
  mi_register_deferred_free(give_back, NULL);
  while (!calls)
    ALLOCATE(27);
  mi_free(kept);
  return calls != 1;
}
"""


@pytest.mark.parametrize("how", ["mi_malloc(size)", "malloc(size)", "mi_malloc_aligned(size, 256)", "mi_realloc(NULL, size)"])
def test_deferred_free(compile_c, record, how):
    """mimalloc calls it in the middle of an allocation: also one that the recorder itself asks for (malloc)."""
    program = compile_c(DEFERRED_FREE, f"-DALLOCATE(size)={how}", "-fno-builtin", file_of("libmimalloc.so"))
    recording = record([program])
    assert recording.process.returncode == 0
    report = recording.report_with("--top", "0")
    assert recorded_counts(report, [1013, 1511, 1523, 60013]) == {1013: (64, 0), 1511: (1, 0), 1523: (1, 0), 60013: (1, 0)}
    check_is_complete(report)


HOOKS = r"""
#include <stdio.h>
#include <stdlib.h>
int MallocHook_AddNewHook(void (*)(const void *, size_t)), MallocHook_RemoveNewHook(void (*)(const void *, size_t));
int MallocHook_AddDeleteHook(void (*)(const void *)), MallocHook_RemoveDeleteHook(void (*)(const void *));
static void *volatile kept[64], *volatile old[64];
static volatile int count, is_inside;
static void on_new(const void *block, size_t size)
{
  (void)block, (void)size;
  if (is_inside++ == 0) {
    kept[count] = malloc(1511);
    free(malloc(1523));
    free(realloc(malloc(1531), 70001));
  }
  is_inside--;
}
static void on_delete(const void *block)
{
  (void)block;
  if (is_inside++ == 0)
    free(old[count++]);
  is_inside--;
}
int main(void)
{
  for (int i = 0; i < 64; i++)
    old[i] = malloc(1543);
  MallocHook_AddNewHook(on_new);
  MallocHook_AddDeleteHook(on_delete);
  for (int i = 0; i < 64; i++)
    free(malloc(1013));
  MallocHook_RemoveNewHook(on_new);
  MallocHook_RemoveDeleteHook(on_delete);
  for (int i = 0; i < 64; i++)
    free(kept[i]);
  return count != 64;
}
"""


def test_hooks(compile_c, record):
    recording = record([compile_c(HOOKS, "-fno-builtin", file_of("libtcmalloc_minimal.a"), "-lstdc++", "-lm", "-pthread")])
    assert recording.process.returncode == 0
    report = recording.report_with("--top", "0")
    assert recorded_counts(report, [1013, 1511, 1523, 1531, 70001, 1543]) == {size: (64, 0) for size in (1013, 1511, 1523, 1531, 70001, 1543)}
    check_is_complete(report)


HANDLER_OF_MALLOC = r"""
#include <cstdlib>
#include <new>
extern "C" int tc_set_new_mode(int);
static void *volatile reserve, *volatile kept;
static void handle()
{
  std::free(reserve);
  kept = std::malloc(1511);
  std::free(std::malloc(1523));
  std::set_new_handler(nullptr);
}
int main()
{
  volatile std::size_t huge = std::size_t(1) << 60;
  reserve = std::malloc(1811);
  tc_set_new_mode(1);
  std::set_new_handler(handle);
  void *volatile block = std::malloc(huge);
  std::free(kept);
  return block != nullptr;
}
"""


def test_new_handler_of_malloc(compile_cxx, record):
    recording = record([compile_cxx(HANDLER_OF_MALLOC, "-fno-builtin", file_of("libtcmalloc_minimal.a"), "-lm", "-pthread")])
    assert recording.process.returncode == 0
    report = recording.report_with("--top", "0")
    assert recorded_counts(report, [1811, 1511, 1523]) == {1811: (1, 0), 1511: (1, 0), 1523: (1, 0)} and report["failed_calls"] == 1
    check_is_complete(report)


INTERRUPTED_ALLOCATOR = r"""
#include <signal.h>
#include <stddef.h>
static _Alignas(16) char arena[1 << 20];
static size_t used;
volatile int interrupts;
int je_mallctlnametomib(void) { return 0; }
__attribute__((noipa)) void *je_malloc(size_t bytes)
{
  char *block = arena + used;
  used += (bytes + 15) & ~(size_t)15;
  if (interrupts)
    raise(SIGUSR1);
  return block;
}
__attribute__((noipa)) void je_free(void *block)
{
  if (interrupts && block)
    raise(SIGUSR1);
}
"""
INTERRUPTS = r"""
#include <signal.h>
#include <stddef.h>
void *je_malloc(size_t);
void je_free(void *);
extern volatile int interrupts;
static void *volatile old, *volatile kept[128];
static volatile int count;
static void handle(int signal)
{
  (void)signal;
  interrupts = 0;
  je_free(old);
  kept[count++] = je_malloc(1511);
  je_free(je_malloc(1523));
}
int main(void)
{
  signal(SIGUSR1, handle);
  for (int i = 0; i < 64; i++) {
    old = je_malloc(1531);
    interrupts = 1;
    void *volatile block = je_malloc(1013);
    old = je_malloc(1531);
    interrupts = 1;
    je_free(block);
  }
  for (int i = 0; i < 128; i++)
    je_free(kept[i]);
  return count != 128;
}
"""


@pytest.mark.parametrize("options", [[], ["--durations"]], ids=["usual", "durations"])
def test_signal_handlers_that_interrupt_the_allocator(compile_c, record, tmp_path, options):
    allocator = tmp_path / "allocator.c"
    allocator.write_text(INTERRUPTED_ALLOCATOR)
    recording = record([compile_c(INTERRUPTS, str(allocator))], *options)
    assert recording.process.returncode == 0
    report = recording.report_with("--top", "0")
    assert recorded_counts(report, [1013, 1511, 1523, 1531]) == {1013: (64, 0), 1511: (128, 0), 1523: (128, 0), 1531: (128, 0)}
    check_is_complete(report)
