/* test_core.c - a core dump is read without any memory error: truncated anywhere, and whichever call of malloc fails
 *
 * Breaks if a result of malloc is not checked, if memory is not freed after an error, or if the reader takes what is not in
 * the file.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../fuzz_file.h"
#include "../trace/failing_malloc.h"
#include "memory/heaps/heap.h"
#include "memory/image/core_file.h"
#include "memory/image/raw.h"
#include "small_core.h"

static uint8_t bytes[SMALL_CORE_BYTES];

static void put(const struct fuzz_file *file, size_t count)
{
  assert_int_equal(ftruncate(file->fd, 0), 0);
  assert_int_equal(pwrite(file->fd, bytes, count, 0), count);
}

/* Opens the file and finds its heap. */
static int find(struct hwi_memory *memory, struct hwi_core_heap *heap, const char *path, struct hwi_error *error)
{
  const int status = hwi_core_file_open(memory, path, error);
  return status < 0 ? status : hwi_core_heap_find(heap, memory, error);
}

/* Core dumps of each CPU are read on each other one. */
static void check_whole(const struct hwi_machine *machine)
{
  static const enum hwi_core_block_state states[SMALL_CORE_BLOCKS] = {
      HWI_CORE_BLOCK_OWN, HWI_CORE_BLOCK_LIVE, HWI_CORE_BLOCK_CACHED, HWI_CORE_BLOCK_FREE, HWI_CORE_BLOCK_LIVE,
      HWI_CORE_BLOCK_TOP, HWI_CORE_BLOCK_LIVE, HWI_CORE_BLOCK_LIVE,   HWI_CORE_BLOCK_TOP};
  struct hwi_memory memory;
  struct hwi_core_heap heap = {0};
  struct hwi_error error = {0};
  struct fuzz_file file = fuzz_file_open();
  small_core_make_for(bytes, machine);
  put(&file, sizeof bytes);
  assert_int_equal(find(&memory, &heap, file.path, &error), 0);
  assert_int_equal(memory.thread_count, 1);
  assert_ptr_equal(memory.threads->machine, machine);
  assert_int_equal(memory.threads->tid, 77);
  assert_int_equal(memory.threads->stack_pointer, small_core_tls + 0x200);
  assert_int_equal(memory.threads->thread_pointer, small_core_tls + (machine->local_is_above ? 0x600 : 0x800));
  assert_int_equal(memory.pid, 77);
  assert_int_equal(memory.signal, 6);
  assert_string_equal(memory.command, "small --core");
  assert_string_equal(hwi_memory_region(&memory, small_core_libc)->file, "/lib/libc.so.6");
  assert_int_equal(heap.damage_count, 0);
  assert_int_equal(heap.block_count, SMALL_CORE_BLOCKS);
  for (size_t i = 0; i < heap.block_count; i++)
    assert_int_equal(hwi_core_block_state(&heap.blocks[i]), states[i]);
  for (size_t i = 0; i < heap.part_count; i++)
    assert_int_equal(heap.parts[i].system_bytes, heap.parts[i].understood_bytes);
  assert_int_equal(hwi_core_heap_sum(&heap, HWI_CORE_BLOCK_LIVE).blocks, SMALL_CORE_LIVE);
  hwi_core_heap_release(&heap);
  hwi_memory_close(&memory);
  close(file.fd);
}

static void test_whole(void **state)
{
  (void)state;
  check_whole(hwi_machine_of(EM_AARCH64, sizeof(uint64_t)));
  check_whole(hwi_machine_of(EM_X86_64, sizeof(uint64_t)));
  check_whole(hwi_machine_of(EM_RISCV, sizeof(uint64_t)));
  assert_null(hwi_machine_of(EM_ARM, sizeof(uint32_t)));
}

/* Sizes that a fence has: what is behind must be found, and what is wrong be said. */
static void test_damaged_size(void **state)
{
  (void)state;
  static const uint64_t sizes[] = {0, 1, 0x10, 0x11, 0x41414141};
  const uint64_t first = small_core_heap + 0x290, right = 0x41;
  struct fuzz_file file = fuzz_file_open();
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    struct hwi_memory memory;
    struct hwi_core_heap heap = {0};
    struct hwi_error error = {0};
    small_core_put(bytes, first + 8, sizes[i]);
    put(&file, sizeof bytes);
    small_core_put(bytes, first + 8, right);
    assert_int_equal(find(&memory, &heap, file.path, &error), 0);
    assert_int_equal(heap.damage_count, 1);
    assert_int_equal(heap.damages[0].address, first);
    assert_int_equal(heap.block_count, SMALL_CORE_BLOCKS - 1);
    hwi_core_heap_release(&heap);
    hwi_memory_close(&memory);
  }
  close(file.fd);
}

/* The top chunk of either arena goes to its end, whatever its size says. */
static void test_damaged_top(void **state)
{
  (void)state;
  static const uint64_t tops[] = {small_core_heap + 0x910, small_core_sub_heap + 0x950};
  static const uint64_t sizes[] = {0, 0x10, 0x41, 0x4141414141414141, UINT64_MAX};
  struct fuzz_file file = fuzz_file_open();
  for (size_t i = 0; i < sizeof tops / sizeof *tops * (sizeof sizes / sizeof *sizes); i++) {
    const uint64_t top = tops[i % 2], rest = SMALL_CORE_PAGE - top % SMALL_CORE_PAGE;
    struct hwi_memory memory;
    struct hwi_core_heap heap = {0};
    struct hwi_error error = {0};
    small_core_put(bytes, top + 8, sizes[i / 2]);
    put(&file, sizeof bytes);
    small_core_make(bytes);
    assert_int_equal(find(&memory, &heap, file.path, &error), 0);
    assert_int_equal(heap.damage_count, 1);
    assert_int_equal(heap.damages[0].address, top);
    assert_non_null(strstr(heap.damages[0].text, "the size of the top chunk here cannot be right"));
    assert_int_equal(heap.block_count, SMALL_CORE_BLOCKS);
    const struct hwi_core_block *block = hwi_core_heap_block_at(&heap, top + 16);
    assert_true(block && block->address == top + 16 && hwi_core_block_state(block) == HWI_CORE_BLOCK_TOP);
    assert_int_equal(hwi_core_block_bytes(block), rest - 16);
    for (size_t part = 0; part < heap.part_count; part++)
      assert_int_equal(heap.parts[part].understood_bytes, heap.parts[part].system_bytes);
    hwi_core_heap_release(&heap);
    hwi_memory_close(&memory);
  }
  close(file.fd);
}

/* Sub-heaps that overlap: each address has one block at most. */
static void test_forged_sub_heaps(void **state)
{
  (void)state;
  const uint64_t forged = small_core_sub_heap + 0xa00, owner = small_core_sub_heap + 0x30;
  struct hwi_memory memory;
  struct hwi_core_heap heap = {0};
  struct hwi_error error = {0};
  struct fuzz_file file = fuzz_file_open();
  small_core_put(bytes, small_core_sub_heap + 8, forged);
  small_core_put(bytes, forged, owner);
  small_core_put(bytes, forged + 16, 0x200);
  small_core_put(bytes, forged + 0x28, 0x201);
  put(&file, sizeof bytes);
  small_core_make(bytes);
  assert_int_equal(find(&memory, &heap, file.path, &error), 0);
  assert_int_equal(heap.damage_count, 1);
  assert_int_equal(heap.damages[0].address, forged);
  for (size_t i = 1; i < heap.block_count; i++)
    assert_true(heap.blocks[i].address >= heap.blocks[i - 1].address + hwi_core_block_bytes(&heap.blocks[i - 1]));
  hwi_core_heap_release(&heap);
  hwi_memory_close(&memory);
  close(file.fd);
}

static void test_truncated(void **state)
{
  (void)state;
  struct fuzz_file file = fuzz_file_open();
  for (size_t count = 1; count < sizeof bytes; count += count < 2048 ? 1 : 97) {
    struct hwi_memory memory;
    struct hwi_core_heap heap = {0};
    struct hwi_error error = {0};
    put(&file, count);
    if (find(&memory, &heap, file.path, &error) == 0)
      assert_true(memory.missing > 0 && memory.note_count == 1);
    else
      assert_true(error.text[0]);
    hwi_core_heap_release(&heap);
    hwi_memory_close(&memory);
  }
  close(file.fd);
}

static void test_no_memory(void **state)
{
  (void)state;
  enum { CALLS_MOST = 1000 };
  struct fuzz_file file = fuzz_file_open();
  bool has_failed = true;
  uint64_t calls = 0;
  put(&file, sizeof bytes);
  for (; has_failed && calls < CALLS_MOST; calls++) {
    struct hwi_memory memory;
    struct hwi_core_heap heap = {0};
    struct hwi_error error = {0};
    failing_malloc_arm(calls, UINT64_MAX);
    const int status = find(&memory, &heap, file.path, &error);
    const size_t count = heap.block_count;
    hwi_core_heap_release(&heap);
    hwi_memory_close(&memory);
    has_failed = failing_malloc_disarm();
    assert_int_equal(failing_malloc_leaks(), 0);
    if (status == 0)
      assert_int_equal(count, SMALL_CORE_BLOCKS);
    else
      assert_true(has_failed && error.text[0]);
  }
  assert_true(calls > 1 && calls < CALLS_MOST);
  close(file.fd);
}

/* Words of another size and byte order, and two files whose order is not that of their addresses. */
static void test_raw(void **state)
{
  (void)state;
  static const uint8_t high[8] = {0x20, 0, 0, 4, 1, 2, 3, 4}, low[4] = {9, 8, 7, 6};
  struct fuzz_file one = fuzz_file_open(), two = fuzz_file_open();
  const struct hwi_raw_map maps[] = {{one.path, 0x20000000}, {two.path, 0x1000}};
  const struct hwi_raw_image image = {.maps = maps, .map_count = 2, .word_bits = 32, .is_big_endian = true};
  struct hwi_memory memory;
  struct hwi_error error = {0};
  uint64_t word;
  assert_int_equal(write(one.fd, high, sizeof high), sizeof high);
  assert_int_equal(write(two.fd, low, sizeof low), sizeof low);
  assert_int_equal(hwi_raw_open(&memory, &image, &error), 0);
  struct hwi_memory_reader reader = {.memory = &memory};
  assert_true(hwi_memory_word(&reader, 0x20000000, &word) && word == 0x20000004);
  assert_true(hwi_memory_word(&reader, 0x20000004, &word) && word == 0x01020304);
  assert_true(hwi_memory_word(&reader, 0x1000, &word) && word == 0x09080706);
  assert_false(hwi_memory_word(&reader, 0x1001, &word) || hwi_memory_word(&reader, 0x20000008, &word));
  hwi_memory_close(&memory);
  close(one.fd);
  close(two.fd);
}

/* An allocator that is there, but is not read, is named. */
static void test_refused(void **state)
{
  (void)state;
  static const struct hwi_region region = {
      .begin = 0x10000, .end = 0x20000, .is_writable = true, .file = "/lib/ld-musl-x86_64.so.1"};
  struct hwi_memory memory = {.word_bytes = 8};
  struct hwi_core_heap heap;
  struct hwi_error error = {0};
  assert_true(hwi_memory_add_region(&memory, &region));
  assert_int_equal(hwi_core_heap_find(&heap, &memory, &error), HW_ERR_USAGE);
  assert_string_equal(error.text,
                      "no heap was found: of musl's mallocs, only that of 1.2.1 and later is read (mallocng)"
                      "; another malloc is read only with libheapwright-annotate.so");
  hwi_memory_close(&memory);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_whole),       cmocka_unit_test(test_damaged_size),
      cmocka_unit_test(test_damaged_top), cmocka_unit_test(test_forged_sub_heaps),
      cmocka_unit_test(test_truncated),   cmocka_unit_test(test_no_memory),
      cmocka_unit_test(test_raw),         cmocka_unit_test(test_refused),
  };
  small_core_make(bytes);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
