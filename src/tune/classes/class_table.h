/* class_table.h - the size classes of a heap that need least memory for what a program had
 *
 * granule    16 bytes: the unit of sizes and classes. A size in granules is that of the smallest class that could have
 *            the block.
 * owner      a thread's part of a heap: it has pages of its own for each class that it uses.
 * use        the blocks of one size and alignment that one owner has.
 *
 * What a table costs. A block takes its class, and its part of the end of a page that is too short for one more block:
 * page / floor(page / class). Each owner that uses a class has a page of it that is partly filled: half a page of the
 * system, since memory is touched as it is given out. It also keeps the first page of a class when its blocks are freed: what
 * the most blocks that it had of one of the sizes have touched of that page.
 *
 * What is counted. Each size counts three times: its blocks at the peak, which decides how much memory the machine must
 * have; its average over time; and the most that it had at any time, so that a size of which there are many for a moment
 * does not make another peak. In addition there are `other` blocks of all sizes, since another run of the program will
 * have some that this one has not.
 *
 * Alignment. The heap gives an aligned block the first class that is large enough and a multiple of the alignment, which may
 * be larger than what its neighbours in size get.
 */
#ifndef HWI_TUNE_CLASS_TABLE_H
#define HWI_TUNE_CLASS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heapwright/heap.h"

enum {
  HWI_CLASS_GRANULE_BYTES = HW_HEAP_ALIGN,
  HWI_CLASS_GRANULES = HW_HEAP_LARGEST_CLASS_BYTES / HW_HEAP_ALIGN,
  HWI_CLASS_COUNT_MAX = HW_HEAP_MOST_CLASSES,
};

struct hwi_class_use {
  uint32_t owner;       /* below owner_count */
  uint16_t granules;    /* at least 1; a multiple of the alignment */
  uint8_t align_log2;   /* of the granules: 0 means 16 bytes */
  uint64_t peak_blocks; /* at the peak */
  uint64_t most_blocks; /* at a time */
  double mean_blocks;   /* over time */
};

struct hwi_class_demand {
  struct hwi_class_use *uses; /* ascending by granules */
  size_t use_count;
  uint32_t owner_count;
  uint16_t granules; /* of the largest class, which has room for all uses and is a multiple of all alignments */
};

struct hwi_class_table {
  size_t bytes[HWI_CLASS_COUNT_MAX];
  size_t count;
};

/* What the blocks of a demand take in a table, in bytes. */
struct hwi_class_cost {
  double block_bytes; /* at the peak: the classes of all blocks */
  double end_bytes;   /* ends of pages */
  double part_bytes;  /* partly filled pages */
  double mean_bytes;  /* over time: classes and ends of pages */
};

/* Returns what they take at the peak. */
static inline double hwi_class_peak_bytes(const struct hwi_class_cost *cost)
{
  return cost->block_bytes + cost->end_bytes + cost->part_bytes;
}

/* The best tables of 1 to HWI_CLASS_COUNT_MAX classes, and their costs; a count of 0 and a cost of INFINITY if the largest class
 * has fewer granules. Each table is an exact optimum, unless its bound is below its cost: then so many sizes are aligned that
 * not all tables were looked at. */
struct hwi_class_optimum {
  struct hwi_class_table tables[HWI_CLASS_COUNT_MAX + 1]; /* by count; [0] is unused */
  double costs[HWI_CLASS_COUNT_MAX + 1];                  /* with `other` blocks */
  double bounds[HWI_CLASS_COUNT_MAX + 1];                 /* no table of so many classes costs less */
};

/* Finds the optimum. O(granules^2 * classes + granules * uses): a tenth of a second, and a second for 100,000 uses. If some
 * of thousands of sizes are aligned, one to two seconds; if most are, in many threads, half a minute. Returns false if there is
 * no memory. */
bool hwi_class_optimize(struct hwi_class_optimum *optimum, const struct hwi_class_demand *demand);

/* Sets *cost to what the demand, without `other` blocks, takes in a table that the heap accepts. Returns false if there is no
 * memory. */
bool hwi_class_cost_of(struct hwi_class_cost *cost, const struct hwi_class_demand *demand,
                       const struct hwi_class_table *table);

#endif
