/* fuzz_core.c - arbitrary bytes as a core dump and as raw memory: no crash, no hang, no more memory than their size justifies */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../fuzz_file.h"
#include "memory/heaps/heap.h"
#include "memory/image/abort_message.h"
#include "memory/image/core_file.h"
#include "memory/image/raw.h"
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
  struct hwi_raw_map map = {file.path, small_core_libc};
  const struct hwi_raw_image image = {.maps = &map, .map_count = 1, .word_bits = 64};
  if (count && hwi_raw_open(&memory, &image, &error) == 0) {
    check_heap(&memory);
    hwi_memory_close(&memory);
  }
  close(file.fd);
  return 0;
}
