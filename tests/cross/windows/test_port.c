/* test_port.c - Windows' port of what heaps and tools need of the system. If it fails, a heap's threads wait for ever or share a
 * block, or texts, patterns, lists and streams are not those of Linux */
#include <fnmatch.h>
#include <pthread.h>
#include <setjmp.h>

#include <cmocka.h>

#include "heapwright/heap.h"
#include "platform/os.h"
#include "platform/os_heap.h"

enum { THREADS = 8, ROUNDS = 20000, GRANULE = 64 << 10 };

/* --- locks --- */

static uint32_t word;
static unsigned long long counter; /* with the lock */

static void *count(void *unused)
{
  for (int i = 0; i < ROUNDS; i++) {
    assert_int_equal(hwi_os_wait_for_lock(&word, 0), 0);
    counter++;
    hwi_os_hand_lock_on(&word);
  }
  return unused;
}

static void a_lock_is_held_by_one_thread(void **state)
{
  pthread_t threads[THREADS];
  (void)state;
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, count, NULL), 0);
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  assert_int_equal(counter, THREADS * ROUNDS);
  assert_int_equal(word, 0);
  assert_int_equal(hwi_os_wait_for_lock(&word, 0), 0);
  assert_int_equal(hwi_os_wait_for_lock(&word, 0), -EDEADLK);
  hwi_os_hand_lock_on(&word);
}

/* --- memory --- */

static void memory_at_a_place(void **state)
{
  (void)state;
  char *start = hwi_os_map(4 * GRANULE);
  hwi_os_unmap(start, 4 * GRANULE);
  assert_int_equal(hwi_os_map_at(start, GRANULE / 2), 0);
  assert_int_equal(hwi_os_map_at(start, GRANULE), -EEXIST);
  start[0] = start[GRANULE / 2 - 1] = 1;
  assert_ptr_equal(hwi_os_remap(start, GRANULE / 2, GRANULE, NULL), start);
  start[GRANULE - 1] = 1;
  assert_int_equal(hwi_os_map_at(start + GRANULE, GRANULE), 0);
  assert_null(hwi_os_remap(start, GRANULE, 2 * GRANULE, NULL));
  hwi_os_unmap(start + GRANULE, GRANULE);
  char *other = hwi_os_map(2 * GRANULE);
  assert_ptr_equal(hwi_os_remap(start, GRANULE, 2 * GRANULE, other), other);
  assert_int_equal(other[0] + other[GRANULE / 2 - 1] + other[GRANULE - 1], 3);
  assert_int_equal(hwi_os_drop_pages(other, GRANULE), 0);
  assert_int_equal(other[0], 0);
  hwi_os_unmap(other, 2 * GRANULE);
}

/* Is the memory at `start` free? */
static bool is_free(char *start)
{
  bool is_mapped = hwi_os_map_at(start, GRANULE) == 0;
  if (is_mapped)
    hwi_os_unmap(start, GRANULE);
  return is_mapped;
}

static void memory_becomes_longer_and_shorter(void **state)
{
  (void)state;
  char *start = hwi_os_map(5 * GRANULE);
  hwi_os_unmap(start, 5 * GRANULE);
  assert_int_equal(hwi_os_map_at(start, GRANULE / 2), 0);
  assert_ptr_equal(hwi_os_remap(start, GRANULE / 2, 3 * GRANULE / 2, NULL), start);
  assert_ptr_equal(hwi_os_remap(start, 3 * GRANULE / 2, 5 * GRANULE, NULL), start);
  memset(start, 1, 5 * GRANULE);
  assert_ptr_equal(hwi_os_remap(start, 5 * GRANULE, GRANULE / 2, NULL), start);
  assert_int_equal(start[GRANULE / 2 - 1], 1);
  assert_true(is_free(start + GRANULE) && is_free(start + 4 * GRANULE));
  assert_ptr_equal(hwi_os_remap(start, GRANULE / 2, 4 * GRANULE, NULL), start);
  assert_int_equal(start[GRANULE / 2] + start[GRANULE] + start[4 * GRANULE - 1], 0);
  hwi_os_unmap(start, 4 * GRANULE);
  assert_true(is_free(start) && is_free(start + GRANULE) && is_free(start + 3 * GRANULE));
}

/* --- threads that use a heap, and end --- */

static struct hw_heap *heap;

static void *use(void *blocks)
{
  for (int i = 0; i < ROUNDS; i++)
    hw_heap_free(heap, hw_heap_alloc(heap, (size_t)i % 3000));
  *(void **)blocks = hw_heap_alloc(heap, 100);
  return NULL;
}

static void threads_end_and_others_free(void **state)
{
  pthread_t threads[THREADS];
  void *blocks[THREADS];
  (void)state;
  heap = hw_heap_create(NULL, NULL);
  assert_non_null(heap);
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, use, &blocks[i]), 0);
  for (int i = 0; i < THREADS; i++) {
    pthread_join(threads[i], NULL);
    assert_int_equal(hw_heap_free(heap, blocks[i]), HW_HEAP_OK);
  }
  hw_heap_destroy(heap);
}

/* --- texts, lists, streams --- */

static void patterns(void **state)
{
  (void)state;
  static const struct {
    const char *pattern, *text;
    bool matches;
  } cases[] = {{"fill*", "fill(int)", true},
               {"*.c", "a.c.c", true},
               {"a?c",
                "a\xc3\xa4"
                "c",
                true},
               {"[a-c]x", "bx", true},
               {"[!a-c]x", "bx", false},
               {"a\\*", "a*", true},
               {"a\\*", "ab", false},
               {"", "", true},
               {"*", "", true},
               {"a*b*c", "aXbY", false},
               {"[x", "[x", true}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_int_equal(fnmatch(cases[i].pattern, cases[i].text, 0) == 0, cases[i].matches);
}

static int write_text(char *to, size_t room, const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  int bytes = vsnprintf(to, room, format, arguments);
  va_end(arguments);
  return bytes;
}

static void texts_of_errors(void **state)
{
  char text[100];
  (void)state;
  errno = ENOENT;
  write_text(text, sizeof text, "100 %% of %s: %m, %zu", "x", (size_t)5);
  assert_string_equal(text, "100 % of x: No such file or directory, 5");
}

static int by_tens(const void *left, const void *right)
{
  return *(const int *)left / 10 - *(const int *)right / 10;
}

/* The last digit of an item says which of its equals it is. */
static void equal_items_keep_their_order(void **state)
{
  int items[500];
  (void)state;
  for (int i = 0; i < 500; i++)
    items[i] = i * 7 % 50 * 10 + i / 50;
  qsort(items, 500, sizeof *items, by_tens);
  for (int i = 0; i < 500; i++)
    assert_int_equal(items[i], i);
}

static void a_text_of_a_stream(void **state)
{
  char *text;
  size_t bytes;
  (void)state;
  FILE *stream = open_memstream(&text, &bytes);
  assert_non_null(stream);
  fputs("a line\n", stream);
  assert_int_equal(fclose(stream), 0);
  assert_int_equal(bytes, 7);
  assert_string_equal(text, "a line\n");
  free(text);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_lock_is_held_by_one_thread),
      cmocka_unit_test(memory_at_a_place),
      cmocka_unit_test(memory_becomes_longer_and_shorter),
      cmocka_unit_test(threads_end_and_others_free),
      cmocka_unit_test(patterns),
      cmocka_unit_test(texts_of_errors),
      cmocka_unit_test(equal_items_keep_their_order),
      cmocka_unit_test(a_text_of_a_stream),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
