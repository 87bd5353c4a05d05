/* test_heap_orphans.c - a thread of a general heap begins while the one ends whose block it frees
 *
 * Breaks if the new thread takes what the other one had before this is in the list of what ended threads had: the list is damaged then.
 * The other thread is made to end at the moment at which the new one has read this list and looks at what the other one had.
 */
#include <signal.h>
#include <sys/mman.h>

#include "allocators/heap/layout.h"
#include "new_heap.h"

enum { OTHERS = 3, BYTES = 100 };

static struct hwi_owner *ending; /* cannot be read until it ends */

static void set_access(int access)
{
  assert_int_equal(mprotect(ending, sizeof *ending, access), 0);
}

static void end_now(int signal, siginfo_t *info, void *context)
{
  (void)signal, (void)context;
  if ((uintptr_t)info->si_addr - (uintptr_t)ending >= sizeof *ending)
    abort();
  set_access(PROT_READ | PROT_WRITE);
  hwi_owner_end(ending);
}

static struct hwi_owner *begin(struct hw_heap *heap, uintptr_t thread, const void *block)
{
  struct hwi_owner *owner = hwi_owner_begin(heap, &ending + thread, thread, block);
  assert_non_null(owner);
  return owner;
}

static size_t count_orphans(const struct hw_heap *heap)
{
  const struct hwi_owner *first = heap->orphans, *at = first;
  size_t count = 0;
  if (first)
    do {
      assert_ptr_equal(at->next_orphan->prev_orphan, at);
      at = at->next_orphan;
      assert_in_range(++count, 1, OTHERS);
    } while (at != first);
  return count;
}

static void a_thread_that_is_just_ending_is_taken(void **state)
{
  (void)state;
  for (int was_in_list = 0; was_in_list < 2; was_in_list++) {
    struct hw_heap *heap = new_heap();
    struct hwi_owner *others[OTHERS];
    for (uintptr_t i = 0; i < OTHERS; i++)
      others[i] = begin(heap, i + 1, NULL);
    ending = others[0];
    if (was_in_list) { /* its links are those of then */
      hwi_owner_end(ending);
      assert_ptr_equal(begin(heap, 1, NULL), ending);
    }
    void *block = hwi_owner_alloc(ending, BYTES);
    for (size_t i = 1; i < OTHERS; i++)
      hwi_owner_end(others[i]);
    struct sigaction action = {.sa_sigaction = end_now, .sa_flags = SA_SIGINFO}, before;
    sigaction(SIGSEGV, &action, &before);
    set_access(PROT_NONE);
    assert_ptr_equal(begin(heap, OTHERS + 1, block), ending);
    sigaction(SIGSEGV, &before, NULL);
    assert_null(heap->new_orphans);
    assert_int_equal(count_orphans(heap), OTHERS - 1);
    assert_true(hw_heap_destroy(heap));
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_thread_that_is_just_ending_is_taken)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
