/* recode_columns.h - the columns of a recoded section: similar values are stored together, so that zstd finds the
 * repetition
 *
 * A column is a list of bytes and varints. On disk: for each column its plain and its packed size (u32 each; equal:
 * stored unpacked), then the packed bytes of all. The last column is absent, not just empty, if calls were not timed.
 */
#ifndef HWI_TRACE_PACK_RECODE_COLUMNS_H
#define HWI_TRACE_PACK_RECODE_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zstd.h>

#include "base/varint.h"

enum hwi_section_column {
  HWI_COLUMN_HEAD,          /* fields of the events, counts of blocks and nodes */
  HWI_COLUMN_CHUNKS,        /* counts of each chunk */
  HWI_COLUMN_THREADS,       /* the threads of the ops */
  HWI_COLUMN_OPS,           /* one byte per event: see recode_common.h */
  HWI_COLUMN_TIMES,         /* one byte per event */
  HWI_COLUMN_LONG_TIMES,    /* times that do not fit a byte */
  HWI_COLUMN_REALLOC_TIMES, /* from the old block's end to the new one's birth */
  HWI_COLUMN_NODES,
  HWI_COLUMN_NEW_NODES,
  HWI_COLUMN_SIZES,
  HWI_COLUMN_USABLE,
  HWI_COLUMN_ADDRESSES, /* of births at the place ELSEWHERE */
  HWI_COLUMN_DISTANCES, /* of freed blocks */
  HWI_COLUMN_FAR,       /* addresses of freed blocks that were born before the section, or elsewhere */
  HWI_COLUMN_ENTRIES,   /* of frees */
  HWI_COLUMN_RARE,
  HWI_COLUMN_TREE_NUMBERS, /* definitions of nodes */
  HWI_COLUMN_TREE_PARENTS,
  HWI_COLUMN_TREE_PCS,
  HWI_COLUMN_NEW_PCS,
  HWI_COLUMN_RECORDS,
  HWI_COLUMN_DURATIONS, /* of calls; only in sections with timed calls */
  HWI_COLUMN_COUNT,
  HWI_COLUMN_COUNT_UNTIMED = HWI_COLUMN_DURATIONS,
};

/* --- writing --- */

struct hwi_column_out {
  uint8_t *bytes;
  size_t count, room;
};

struct hwi_columns_out {
  struct hwi_column_out columns[HWI_COLUMN_COUNT];
  bool failed; /* no memory */
};

void hwi_columns_out_clear(struct hwi_columns_out *out);
void hwi_columns_out_release(struct hwi_columns_out *out);
bool hwi_columns_out_grow(struct hwi_columns_out *out, enum hwi_section_column column, size_t bytes);

static inline void hwi_columns_put_byte(struct hwi_columns_out *out, enum hwi_section_column column, uint8_t byte)
{
  struct hwi_column_out *to = &out->columns[column];
  if (to->count == to->room && !hwi_columns_out_grow(out, column, 1))
    return;
  to->bytes[to->count++] = byte;
}

static inline void hwi_columns_put(struct hwi_columns_out *out, enum hwi_section_column column, uint64_t value)
{
  struct hwi_column_out *to = &out->columns[column];
  if (to->room - to->count < HWI_VARINT_MAX_BYTES && !hwi_columns_out_grow(out, column, HWI_VARINT_MAX_BYTES))
    return;
  to->count = (size_t)(hwi_put_varint(to->bytes + to->count, value) - to->bytes);
}

/* For many values in a row: returns where the column's next byte goes, with room for `bytes` bytes, or NULL if there is
 * no memory. */
static inline uint8_t *hwi_columns_begin(struct hwi_columns_out *out, enum hwi_section_column column, size_t bytes)
{
  struct hwi_column_out *to = &out->columns[column];
  if (to->room - to->count < bytes && !hwi_columns_out_grow(out, column, bytes))
    return NULL;
  return to->bytes + to->count;
}

/* To be called when the bytes are written; `end` is the end of the last one. */
static inline void hwi_columns_end(struct hwi_columns_out *out, enum hwi_section_column column, const uint8_t *end)
{
  out->columns[column].count = (size_t)(end - out->columns[column].bytes);
}

void hwi_columns_put_bytes(struct hwi_columns_out *out, enum hwi_section_column column, const void *bytes,
                           size_t count);

/* Returns how many columns are packed: all, or all but the durations. */
static inline int hwi_columns_out_count(const struct hwi_columns_out *out)
{
  return out->columns[HWI_COLUMN_DURATIONS].count ? HWI_COLUMN_COUNT : HWI_COLUMN_COUNT_UNTIMED;
}

/* Returns an upper bound for the size that hwi_columns_pack returns. */
size_t hwi_columns_bound(const struct hwi_columns_out *out);

/* Compression levels of zstd. */
struct hwi_levels {
  int usual;
  int noise; /* of times and addresses: their repetitions are short, and a longer search makes them hardly smaller */
};

/* Returns the packed size, or 0 if zstd fails. `to` has hwi_columns_bound bytes. */
size_t hwi_columns_pack(const struct hwi_columns_out *out, ZSTD_CCtx *zstd, const struct hwi_levels *levels,
                        uint8_t *to, size_t room);

/* --- reading --- */

struct hwi_column_in {
  const uint8_t *at, *end;
};

struct hwi_columns_in {
  uint8_t *bytes; /* of all columns */
  struct hwi_column_in columns[HWI_COLUMN_COUNT];
  bool failed; /* a read went beyond a column's end, or found an invalid varint */
};

/* The bytes of packed columns. `columns` is HWI_COLUMN_COUNT or HWI_COLUMN_COUNT_UNTIMED. */
struct hwi_packed_columns {
  const uint8_t *bytes;
  size_t count;
  int columns;
};

/* Unpacks columns; a column that is absent is empty. Returns 0, HW_ERR_DAMAGED (also if the columns would have more
 * than `limit` bytes in total) or HW_ERR_MEMORY. */
int hwi_columns_unpack(struct hwi_columns_in *in, const struct hwi_packed_columns *packed, size_t limit);
void hwi_columns_in_release(struct hwi_columns_in *in);

static inline size_t hwi_columns_left(const struct hwi_columns_in *in, enum hwi_section_column column)
{
  return (size_t)(in->columns[column].end - in->columns[column].at);
}

static inline uint8_t hwi_columns_get_byte(struct hwi_columns_in *in, enum hwi_section_column column)
{
  struct hwi_column_in *from = &in->columns[column];
  if (__builtin_expect(from->at == from->end, 0)) {
    in->failed = true;
    return 0;
  }
  return *from->at++;
}

uint64_t hwi_columns_get_long(struct hwi_columns_in *in, enum hwi_section_column column);

static inline uint64_t hwi_columns_get(struct hwi_columns_in *in, enum hwi_section_column column)
{
  struct hwi_column_in *from = &in->columns[column];
  if (__builtin_expect(from->at != from->end && *from->at < 0x80, 1))
    return *from->at++;
  return hwi_columns_get_long(in, column);
}

/* Returns a pointer to the next `count` bytes of the column, or NULL if there are fewer. */
const uint8_t *hwi_columns_get_bytes(struct hwi_columns_in *in, enum hwi_section_column column, size_t count);

#endif
