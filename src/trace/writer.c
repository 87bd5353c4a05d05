/* writer.c - the window of a raw trace: the mapped file, its header, and the chunks cut from it */
#include "trace/writer.h"

#include <errno.h>
#include <string.h>

#include "platform/arch.h"
#include "platform/os.h"

enum { SMALLEST_WINDOW_BYTES = HW_CHUNKS_OFF + (1 << 20) };

int hwi_writer_open(struct hwi_writer *writer, const char *path, uint64_t window_bytes, const struct hw_trace_header *header)
{
  void *window = NULL;
  window_bytes &= ~(uint64_t)(HWI_OS_PAGE_BYTES - 1);
  if (window_bytes < SMALLEST_WINDOW_BYTES)
    window_bytes = SMALLEST_WINDOW_BYTES;
  int result = hwi_os_map_new_file(path, window_bytes, &window);
  while ((result == -ENOMEM || result == -EFBIG || result == -EINVAL) && window_bytes / 2 >= SMALLEST_WINDOW_BYTES) {
    window_bytes = window_bytes / 2 & ~(uint64_t)(HWI_OS_PAGE_BYTES - 1);
    result = hwi_os_map_new_file(path, window_bytes, &window);
  }
  if (result)
    return result;
  result = hwi_os_populate(window, HW_TRACE_HEADER_BYTES);
  if (result) {
    hwi_os_unmap(window, window_bytes);
    hwi_os_remove_file(path);
    return result;
  }
  struct hw_trace_header *to = window;
  *to = *header;
  to->version = HW_TRACE_VERSION;
  to->kind = HW_TRACE_RAW;
  to->header_bytes = HW_TRACE_HEADER_BYTES;
  to->machine = HWI_ARCH_ELF_MACHINE;
  to->pointer_bytes = sizeof(void *);
  to->page_bytes = HWI_OS_PAGE_BYTES;
  to->window_bytes = window_bytes;
  to->used_bytes = HW_CHUNKS_OFF;
  atomic_thread_fence(memory_order_release);
  memcpy(to->magic, HW_TRACE_MAGIC, HW_TRACE_MAGIC_BYTES); /* last: what has the magic has a header */
  memcpy(&writer->image_tag, header->image_id, sizeof writer->image_tag);
  atomic_store_explicit(&writer->next_off, HW_CHUNKS_OFF, memory_order_relaxed);
  writer->window_bytes = window_bytes;
  writer->window = window;
  return 0;
}

void hwi_writer_close(struct hwi_writer *writer)
{
  hwi_os_unmap(writer->window, writer->window_bytes);
  writer->window = NULL;
}

struct hw_chunk_header *hwi_writer_chunk(struct hwi_writer *writer, uint32_t bytes, const struct hw_chunk_header *like,
                                         enum hw_trace_state *reason)
{
  uint64_t off = atomic_load_explicit(&writer->next_off, memory_order_relaxed);
  do {
    if (bytes > writer->window_bytes - off) {
      *reason = HW_STATE_STOPPED_LIMIT;
      return NULL;
    }
  } while (!atomic_compare_exchange_weak_explicit(&writer->next_off, &off, off + bytes, memory_order_relaxed,
                                                  memory_order_relaxed));
  struct hw_chunk_header *chunk = (struct hw_chunk_header *)(writer->window + off);
  if (hwi_os_populate(chunk, bytes)) {
    *reason = HW_STATE_STOPPED_DISK;
    return NULL;
  }
  *chunk = *like;
  chunk->bytes = bytes;
  chunk->off = off;
  chunk->image_tag = writer->image_tag;
  chunk->valid_bytes = 0;
  chunk->state = HW_CHUNK_OPEN;
  __atomic_store_n(&chunk->magic, HW_CHUNK_MAGIC, __ATOMIC_RELEASE);
  __atomic_store_n(&hwi_writer_header(writer)->used_bytes, off + bytes, __ATOMIC_RELAXED);
  return chunk;
}

void hwi_writer_retire(struct hw_chunk_header *chunk, uint32_t bytes)
{
  __atomic_store_n(&chunk->state, HW_CHUNK_RETIRED, __ATOMIC_RELEASE);
  hwi_os_forget(chunk, bytes);
}
