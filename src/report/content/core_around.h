/* core_around.h - what is around an address in a core dump: for a crash
 *
 * suspect    the block that was probably written beyond its end: damage begins where it ends.
 */
#ifndef HWI_REPORT_CONTENT_CORE_AROUND_H
#define HWI_REPORT_CONTENT_CORE_AROUND_H

#include "report/content/core_blocks.h"
#include "report/content/core_crash.h"

enum { HWI_AROUND_DAMAGES_MAX = 8, HWI_AROUND_BYTES = 16 /* of memory that are shown */ };

struct hwi_around_damage {
  const struct hwi_damage *damage;
  uint32_t suspect; /* HWI_NO_BLOCK: there is none */
};

/* A register of the thread that got the signal. Other values are not listed. */
enum hwi_around_value {
  HWI_AROUND_IN_BLOCK,
  HWI_AROUND_BEHIND_BLOCK, /* a few bytes */
  HWI_AROUND_TEXT,         /* 8 characters, which are no address */
  HWI_AROUND_POISON,       /* of freed blocks (heapwright/annotate.h) */
};

struct hwi_around_register {
  unsigned reg;
  uint64_t value;
  enum hwi_around_value kind;
  uint32_t block;   /* for the first two kinds */
  const char *list; /* in which list of free blocks the block is; NULL: not known, or it is not free */
};

struct hwi_core_around {
  struct hwi_core_place place;
  uint32_t behind;  /* where the place is in no block: the block that ends a few bytes before it, or HWI_NO_BLOCK */
  const char *list; /* in which list of free blocks its block is; NULL: not known, or it is not free */
  bool is_freed;    /* it is in a block that was freed; it may also be at the free end of an arena */
  bool is_poison;   /* the address */
  struct hwi_core_crash crash;
  bool is_fault;              /* the signal came because of an access to the address */
  bool is_found;              /* it is the address of the crash, and was found in a register or in the stack: */
  struct hwi_core_place from; /* there */
  uint32_t first, end;        /* the blocks around it; equal: none is near */
  struct hwi_around_damage damages[HWI_AROUND_DAMAGES_MAX];
  size_t damage_count;
  struct hwi_around_register registers[HWI_THREAD_REGISTERS];
  size_t register_count;
  bool is_from_freed; /* the fault, maybe: a register refers to a freed block */
};

/* Returns whether an access to the address was a use after free. A jump to it was none, but the address was wrong before. */
bool hwi_core_around_is_use_after_free(const struct hwi_core_around *around);

/* Finds what is around an address. */
void hwi_core_around_find(struct hwi_core_around *around, const struct hwi_core_question *question, uint64_t address);

/* Adds the bytes at an address, at most `count`, as text in quotes or as hexadecimal numbers; "not known" if the image has none. */
void hwi_core_around_add_bytes(struct hwi_line *line, const struct hwi_memory *memory, uint64_t address,
                               uint64_t count);

#endif
