/* sole.h - the only stream of a trace, read once: for its counts and for its sections
 *
 * Most programs have one thread that allocates. The order of its events needs no merging, and where the packer has found which
 * events of a section are about one block, whoever counts need not look for it again.
 */
#ifndef HWI_LAUNCH_SOLE_H
#define HWI_LAUNCH_SOLE_H

#include "profile/count.h"
#include "trace/pack.h"
#include "trace/recode.h"

/* All zero: no section is begun. */
struct hwi_sole {
  struct hwi_recoder *recoder; /* NULL: not needed yet */
  struct hwi_columns_out columns;
  struct hw_section_header section; /* that is being made; magic 0: none */
  uint16_t fields;                  /* of its chunks */
  struct hwi_recoded_batch batch;   /* the last one */
  int counted;                      /* of it */
};

void hwi_sole_release(struct hwi_sole *sole);

/* A chunk begins, and a section where none is begun. False, here and below: it cannot be done so. */
bool hwi_sole_begin_chunk(struct hwi_sole *sole, const struct hw_chunk_header *chunk);

/* Takes the cursor's next events. All that were taken before must be counted. */
bool hwi_sole_read(struct hwi_sole *sole, struct hwi_cursor *cursor);

/* Events that are read and not counted. */
static inline int hwi_sole_waiting(const struct hwi_sole *sole)
{
  return sole->batch.count - sole->counted;
}

/* Counts those of them that are older than `until`. */
bool hwi_sole_count(struct hwi_sole *sole, struct hwi_counter *counter, uint64_t until);

/* The chunk is at its end: all its events were read and counted. */
void hwi_sole_end_chunk(struct hwi_sole *sole, uint32_t sequence, uint32_t valid_bytes);

/* Bytes of the whole chunks that the section has. */
static inline uint64_t hwi_sole_bytes(const struct hwi_sole *sole)
{
  return sole->section.magic ? sole->section.plain_bytes : 0;
}

/* Ends the section, behind a chunk, and packs it. 0, HW_ERR_MEMORY. */
int hwi_sole_end_section(struct hwi_sole *sole, struct hwi_counter *counter, struct hwi_packer *packer,
                         struct hw_section_header *section, const uint8_t **packed);

/* The stream is no longer alone: what was counted goes on in the counter. */
bool hwi_sole_leave(struct hwi_sole *sole, struct hwi_counter *counter);

#endif
