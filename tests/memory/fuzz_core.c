/* fuzz_core.c - arbitrary bytes as a core dump, as raw memory, and as the memory of a C++ program and of the recorder: no crash, no hang,
 * no more memory than their size justifies */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../fuzz_file.h"
#include "memory/heaps/heap.h"
#include "memory/heaps/last_calls.h"
#include "memory/image/abort_message.h"
#include "memory/image/core_file.h"
#include "memory/image/raw.h"
#include "memory/types/class_names.h"
#include "small_core.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void check_heap(const struct hwi_memory *memory)
{
  struct hwi_core_heap heap;
  struct hwi_error error = {0};
  char message[HWI_ABORT_MESSAGE_BYTES];
  hwi_abort_message_find(memory, message);
  if (strlen(message) >= sizeof message)
    abort();
  const int status = hwi_core_heap_find(&heap, memory, &error);
  if (status == HW_ERR_MEMORY || (status < 0 && !error.text[0]))
    abort();
  for (size_t i = 0; i < heap.block_count; i++)
    if (i && heap.blocks[i].address < heap.blocks[i - 1].address)
      abort();
  for (size_t i = 0; i < heap.damage_count && i < HWI_DAMAGES_MAX; i++)
    if (!heap.damages[i].text[0])
      abort();
  hwi_core_heap_release(&heap);
}

static void check_regions(const struct hwi_memory *memory)
{
  static volatile unsigned sink;
  for (size_t i = 0; i < memory->region_count; i++) {
    const struct hwi_region *region = &memory->regions[i];
    if (region->begin >= region->end || region->known > region->end - region->begin ||
        (i && region->begin < memory->regions[i - 1].end))
      abort();
    if (region->known)
      sink += region->bytes[0] + region->bytes[region->known - 1];
    sink += region->file ? (unsigned)strlen(region->file) : 0;
  }
}

/* The bytes follow the mark of the recorder's description. */
static void check_recorder(const uint8_t *bytes, size_t count)
{
  enum { FRAMES = 64 };
  static const char mark[] = HWI_OWN_MEMORY_MARK;
  const size_t known = HWI_OWN_MEMORY_MARK_BYTES + count;
  uint8_t *copy = malloc(known);
  uint64_t frames[FRAMES];
  uint8_t entry;
  struct hwi_region region = {.begin = small_core_libc,
                              .end = small_core_libc + known,
                              .bytes = copy,
                              .known = known,
                              .is_writable = true,
                              .file = "/lib/libheapwright-record.so"};
  const struct hwi_memory memory = {.regions = &region, .region_count = 1, .word_bytes = 8};
  struct hwi_last_calls calls;
  memcpy(copy, mark, HWI_OWN_MEMORY_MARK_BYTES);
  memcpy(copy + HWI_OWN_MEMORY_MARK_BYTES, bytes, count);
  if (!hwi_last_calls_read(&calls, &memory))
    abort();
  for (size_t i = 0; i < calls.count; i++)
    for (size_t k = 0; k < calls.threads[i].count; k++)
      if (hwi_last_calls_stack(&calls, calls.threads[i].calls[k].node, frames, FRAMES, &entry) > FRAMES)
        abort();
  hwi_last_calls_release(&calls);
  free(copy);
}

static void check_class_names(const uint8_t *bytes, size_t count)
{
  enum { TABLES_MOST = 256 };
  struct hwi_region region = {
      .begin = small_core_libc, .end = small_core_libc + count, .bytes = bytes, .known = count, .file = "/none"};
  struct hwi_core_module module = {.path = "/none", .begin = region.begin, .end = region.end};
  const struct hwi_memory memory = {.regions = &region, .region_count = 1, .word_bytes = 8};
  const struct hwi_core_modules modules = {.modules = &module, .count = 1};
  struct hwi_module_bytes of = {.memory = &memory, .modules = &modules};
  for (size_t off = 0; off < count && off / 8 < TABLES_MOST; off += 8)
    free(hwi_class_name_of(&of, region.begin + off));
  hwi_module_bytes_release(&of);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
  struct fuzz_file file = fuzz_file_open();
  struct hwi_memory memory;
  struct hwi_error error = {0};
  if (write(file.fd, bytes, count) != (ssize_t)count)
    abort();
  const bool is_packed =
      count >= 4 && memcmp(bytes, ELFMAG, SELFMAG) != 0; /* maybe: another's decompressor is not tried */
  if (!is_packed && hwi_core_file_open(&memory, file.path, &error) == 0) {
    check_regions(&memory);
    check_heap(&memory);
    hwi_memory_close(&memory);
  } else if (!is_packed && (!error.text[0] || error.status == HW_ERR_MEMORY)) {
    abort();
  }
  if (count) {
    check_recorder(bytes, count);
    check_class_names(bytes, count);
  }
  struct hwi_raw_map map = {file.path, small_core_libc};
  const struct hwi_raw_image image = {.maps = &map, .map_count = 1, .word_bits = 64};
  if (count && hwi_raw_open(&memory, &image, &error) == 0) {
    check_heap(&memory);
    hwi_memory_close(&memory);
  }
  close(file.fd);
  return 0;
}
