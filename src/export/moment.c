/* moment.c - the blocks of a heap as a trace */
#include "export/moment.h"

#include "export/synthetic.h"

static const char missing[] = "stacks, threads, times, or sizes that were asked for: blocks have their usable sizes";

int hwi_moment_write(const struct hwi_memory *memory, const struct hwi_core_heap *heap, int fd)
{
  enum { NODE = 1 };
  struct hwi_synthetic trace;
  hwi_synthetic_begin(&trace, fd, false);
  trace.header.pid = memory->pid;
  hwi_synthetic_note(&trace, HW_NOTE_IMPORTED, missing);
  hwi_synthetic_record(&trace, HW_RECORD_COMMAND, memory->command, strlen(memory->command) + 1);
  hwi_synthetic_entry(&trace, NODE, HW_ENTRY_MALLOC);
  for (size_t i = 0; i < heap->block_count && trace.status == 0; i++)
    if (hwi_core_block_state(&heap->blocks[i]) == HWI_CORE_BLOCK_LIVE)
      hwi_synthetic_alloc(&trace, NODE, hwi_core_block_bytes(&heap->blocks[i]), heap->blocks[i].address);
  return hwi_synthetic_end(&trace);
}
