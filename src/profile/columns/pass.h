/* pass.h - writes numbers and columns into a summary's compressed stream, and reads them from it
 *
 * pass     one way through a summary, either to write it or to read it. The contents of a summary are described once,
 *          as calls that pass the addresses of numbers: a pass that writes takes the numbers from there, one that reads
 *          stores them there.
 * group    consecutive items of a list, few enough to fit into the CPU's cache.
 * column   one field of all items of a group, one after the other. Neighbouring values are similar, so that zstd
 *          compresses them well. See columns.c.
 *
 * A pass that has failed goes on without doing anything (the numbers that it reads are 0), so that callers check only
 * its end. When it reads, every byte is untrusted: hwi_pass_count limits the memory that is used.
 */
#ifndef HWI_PROFILE_COLUMNS_PASS_H
#define HWI_PROFILE_COLUMNS_PASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zstd.h>

enum hwi_field_order {
  HWI_FIELD_ANY = 0, /* the value itself */
  HWI_FIELD_NEAR,    /* its difference from the item before */
};

/* One field of a struct, an integer or an array of them. */
struct hwi_field {
  size_t off;
  uint8_t bytes; /* 1, 2, 4 or 8, of each integer */
  uint8_t order; /* enum hwi_field_order */
  bool is_bool;
  uint16_t repeat;
};

#define HWI_FIELD_OF(type, member, how, boolean)                         \
  {                                                                      \
    offsetof(type, member), sizeof(((type *)0)->member), how, boolean, 1 \
  }
#define HWI_FIELD(type, member) HWI_FIELD_OF(type, member, HWI_FIELD_ANY, false)
#define HWI_NEAR_FIELD(type, member) HWI_FIELD_OF(type, member, HWI_FIELD_NEAR, false)
#define HWI_BOOL_FIELD(type, member) HWI_FIELD_OF(type, member, HWI_FIELD_ANY, true)
#define HWI_FIELDS(type, member)                                                  \
  {                                                                               \
    offsetof(type, member), sizeof(((type *)0)->member[0]), HWI_FIELD_ANY, false, \
        sizeof(((type *)0)->member) / sizeof(((type *)0)->member[0])              \
  }

/* All fields of a struct that are stored. */
struct hwi_fields {
  const struct hwi_field *list;
  size_t count;
  size_t item_bytes;
};

#define HWI_FIELDS_OF(type, list)                        \
  {                                                      \
    list, sizeof(list) / sizeof((list)[0]), sizeof(type) \
  }

struct hwi_pass {
  bool writes;
  int status; /* 0, or why it failed: HW_ERR_IO, HW_ERR_MEMORY, HW_ERR_DAMAGED */
  int fd;
  uint64_t packed_bytes; /* written; or left to read */
  uint64_t plain_bytes;
  uint64_t most_items; /* of one list, when reading */
  /* of the list of frames, which needs almost no bytes if each frame is called by the one before */
  uint64_t most_frames;
  uint8_t *plain, *packed;
  size_t at, end;     /* in plain: the next byte, and the end of the valid bytes */
  ZSTD_inBuffer from; /* when reading */
  bool frame_ended;   /* likewise: everything is decompressed */
  ZSTD_CCtx *compressor;
  ZSTD_DCtx *decompressor;
};

/* Begins to write at the current offset of `fd`, or to read the `packed_bytes` that follow it. hwi_pass_end must
 * follow. */
void hwi_pass_begin_write(struct hwi_pass *pass, int fd);
void hwi_pass_begin_read(struct hwi_pass *pass, int fd, uint64_t packed_bytes);

/* Returns 0, or the negative status of the pass; packed_bytes are those written. A pass that read must have reached the
 * end of the stream. */
int hwi_pass_end(struct hwi_pass *pass);

void hwi_pass_fail(struct hwi_pass *pass, int status);

void hwi_pass_number(struct hwi_pass *pass, uint64_t *number);

/* Writes or reads a number of items. Returns false if the pass failed, also because a summary of this size cannot have
 * so many. */
bool hwi_pass_count(struct hwi_pass *pass, uint64_t *count);

/* Return the next bytes of the stream, at most HWI_PASS_ROOM_BYTES of them, valid until the next call: to be read (NULL
 * if the pass failed), or to be filled. */
enum { HWI_PASS_ROOM_BYTES = 1 << 15 };
const uint8_t *hwi_pass_take(struct hwi_pass *pass, size_t count);
uint8_t *hwi_pass_room(struct hwi_pass *pass, size_t count);

/* Items of an array, in groups; the last group may be smaller. Items to be read must be all zero before. */
enum { HWI_PASS_GROUP_ITEMS = 4096 };
void hwi_pass_array(struct hwi_pass *pass, const struct hwi_fields *fields, void *items, size_t count);

/* An array with its count. A pass that reads allocates the array by calloc, with room for `spare` more items. *items is
 * NULL if the pass failed, or if there are no items and no spare ones. */
void hwi_pass_list(struct hwi_pass *pass, const struct hwi_fields *fields, void **items, size_t *count, size_t spare);

/* The same for a list of table.h, which must be empty before it is read. */
void hwi_pass_table(struct hwi_pass *pass, const struct hwi_fields *fields, void **items, size_t *count,
                    size_t *capacity);

#endif
