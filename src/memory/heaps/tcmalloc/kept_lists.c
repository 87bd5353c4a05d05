/* kept_lists.c - finds the blocks in tcmalloc's central lists, and in those of threads
 *
 * The central lists follow each other in the data of the module: each has its class. It has places for chains of blocks that threads
 * gave back. A thread has a list for each class, with the class's size: nothing else in memory looks like that.
 */
#include "memory/heaps/tcmalloc/tcmalloc.h"

enum {
  WORD = 8,
  CENTRAL_CLASS_OFF = 8,
  CENTRAL_CHAINS_OFF = 128, /* the first and the last block of each */
  CENTRAL_CHAIN_BYTES = 16,
  CENTRAL_CHAINS_MOST = 64,
  CENTRAL_COUNT_OFF = 1152,
  LIST_BYTES = 32, /* of a thread's list of one class */
  LIST_COUNT_OFF = 8,
  LIST_SIZE_OFF = 24,
};

/* --- central lists --- */

static bool are_central(struct hwi_tcmalloc *tcmalloc, uint64_t at)
{
  uint64_t class;
  for (unsigned i = 0; i < tcmalloc->class_count; i++)
    if (!hwi_memory_word(&tcmalloc->reader, at + (uint64_t)i * HWI_TCMALLOC_CENTRAL_BYTES + CENTRAL_CLASS_OFF,
                         &class) ||
        class != i)
      return false;
  return true;
}

/* The second one has class 1, which is looked for. */
static bool search_central(struct hwi_tcmalloc *tcmalloc, const struct hwi_region *region)
{
  enum { SECOND = HWI_TCMALLOC_CENTRAL_BYTES + CENTRAL_CLASS_OFF };
  for (uint64_t off = 0; off + WORD <= region->known; off += WORD)
    if (hwi_memory_load(tcmalloc->memory, region->bytes + off) == 1 &&
        are_central(tcmalloc, region->begin + off - SECOND)) {
      tcmalloc->central = region->begin + off - SECOND;
      return true;
    }
  return false;
}

bool hwi_tcmalloc_find_central(struct hwi_tcmalloc *tcmalloc)
{
  const struct hwi_memory *memory = tcmalloc->memory;
  const bool knows_files = hwi_memory_knows_files(memory);
  for (size_t i = 0; i < memory->region_count; i++)
    if (hwi_memory_is_data(memory, i, knows_files) && search_central(tcmalloc, &memory->regions[i]))
      return true;
  return false;
}

/* --- chains of blocks --- */

/* Adds the blocks from one on: `count` of them, or until `last`. */
static bool add_chain(struct hwi_tcmalloc *tcmalloc, uint64_t block, uint64_t count, uint64_t last)
{
  for (; block && count && tcmalloc->steps_left; count--, tcmalloc->steps_left--) {
    if (!hwi_kept_add(&tcmalloc->kept, block, HWI_CORE_BLOCK_CACHED))
      return false;
    if (block == last || !hwi_memory_word(&tcmalloc->blocks, block, &block))
      break;
  }
  return true;
}

static bool add_central(struct hwi_tcmalloc *tcmalloc, uint64_t at)
{
  uint64_t first, last;
  uint32_t count;
  bool done = true;
  if (!hwi_tcmalloc_read_32(tcmalloc, at + CENTRAL_COUNT_OFF, &count) || count > CENTRAL_CHAINS_MOST)
    return true;
  for (uint32_t i = 0; i < count && done; i++) {
    const uint64_t chain = at + CENTRAL_CHAINS_OFF + i * CENTRAL_CHAIN_BYTES;
    if (hwi_memory_word(&tcmalloc->reader, chain, &first) && hwi_memory_word(&tcmalloc->reader, chain + WORD, &last))
      done = add_chain(tcmalloc, first, UINT64_MAX, last);
  }
  return done;
}

/* --- lists of threads --- */

static bool are_lists(struct hwi_tcmalloc *tcmalloc, uint64_t at)
{
  uint32_t size;
  for (unsigned i = 1; i < tcmalloc->class_count; i++)
    if (!hwi_tcmalloc_read_32(tcmalloc, at + i * LIST_BYTES + LIST_SIZE_OFF, &size) || size != tcmalloc->sizes[i])
      return false;
  return true;
}

static bool add_lists(struct hwi_tcmalloc *tcmalloc, uint64_t at)
{
  uint64_t first;
  uint32_t count;
  bool done = true;
  for (unsigned i = 1; i < tcmalloc->class_count && done; i++)
    if (hwi_memory_word(&tcmalloc->reader, at + i * LIST_BYTES, &first) &&
        hwi_tcmalloc_read_32(tcmalloc, at + i * LIST_BYTES + LIST_COUNT_OFF, &count))
      done = add_chain(tcmalloc, first, count, 0);
  return done;
}

static bool search_lists(struct hwi_tcmalloc *tcmalloc, const struct hwi_region *region)
{
  enum { SECOND = LIST_BYTES + LIST_SIZE_OFF };
  bool done = true;
  for (uint64_t off = SECOND; off + WORD <= region->known && done; off += WORD)
    if (hwi_memory_load_32(tcmalloc->memory, region->bytes + off) == tcmalloc->sizes[1] &&
        are_lists(tcmalloc, region->begin + off - SECOND))
      done = add_lists(tcmalloc, region->begin + off - SECOND);
  return done;
}

bool hwi_tcmalloc_find_kept(struct hwi_tcmalloc *tcmalloc)
{
  const uint64_t steps = tcmalloc->steps_left;
  bool done = true;
  for (unsigned i = 1; i < tcmalloc->class_count && done; i++)
    done = add_central(tcmalloc, tcmalloc->central + (uint64_t)i * HWI_TCMALLOC_CENTRAL_BYTES);
  for (size_t i = 0; i < tcmalloc->memory->region_count && done; i++)
    if (tcmalloc->memory->regions[i].is_writable)
      done = search_lists(tcmalloc, &tcmalloc->memory->regions[i]);
  hwi_kept_sort(&tcmalloc->kept);
  tcmalloc->steps_left = steps;
  return done;
}
