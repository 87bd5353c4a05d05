/* summary_pass.h - numbers and columns on their way into a summary's compressed stream, or out of it
 *
 * pass     one way through a summary, to write it or to read it. What a summary holds is described once, as calls that give
 *          the places of numbers: a pass that writes takes them from there, one that reads puts them there.
 * group    consecutive items of a list, few enough that the cache holds them.
 * column   one field of all items of a group, one after the other: neighbours are alike, which zstd makes use of. See
 *          summary_columns.c.
 *
 * A pass that has failed goes on without doing anything (what it reads is 0), so that only its end needs to be looked at. When
 * it reads, every byte is hostile: memory is bounded by hwi_pass_count.
 */
#ifndef HWI_PROFILE_SUMMARY_PASS_H
#define HWI_PROFILE_SUMMARY_PASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zstd.h>

enum hwi_field_order {
  HWI_FIELD_ANY = 0, /* the value itself */
  HWI_FIELD_NEAR,    /* its difference to the item before */
};

/* One field of a struct, an integer or an array of them. */
struct hwi_field {
  size_t off;
  uint8_t bytes; /* 1, 2, 4 or 8, of one of them */
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

/* All fields of a struct that are kept. */
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
  uint64_t most_items;  /* of one list, when reading */
  uint64_t most_frames; /* of their list, which takes next to no bytes where each is called by the one before */
  uint8_t *plain, *packed;
  size_t at, end;     /* in plain: the next byte, and behind what is there */
  ZSTD_inBuffer from; /* when reading */
  bool frame_ended;   /* likewise: all is decompressed */
  ZSTD_CCtx *compressor;
  ZSTD_DCtx *decompressor;
};

/* Begins to write at the place where `fd` is, or to read the `packed_bytes` that are there. hwi_pass_end must follow. */
void hwi_pass_begin_write(struct hwi_pass *pass, int fd);
void hwi_pass_begin_read(struct hwi_pass *pass, int fd, uint64_t packed_bytes);

/* 0 or the status; packed_bytes are those written. A pass that read must have come to the end of what there was. */
int hwi_pass_end(struct hwi_pass *pass);

void hwi_pass_fail(struct hwi_pass *pass, int status);

void hwi_pass_number(struct hwi_pass *pass, uint64_t *number);

/* A number of items. False: the pass failed, also because no summary of this size has so many. */
bool hwi_pass_count(struct hwi_pass *pass, uint64_t *count);

/* The next bytes of the stream, at most HWI_PASS_ROOM_BYTES of them, until the next call: to be read (NULL: the pass failed) or
 * to be filled. */
enum { HWI_PASS_ROOM_BYTES = 1 << 15 };
const uint8_t *hwi_pass_take(struct hwi_pass *pass, size_t count);
uint8_t *hwi_pass_room(struct hwi_pass *pass, size_t count);

/* Items of an array, in groups whose last one may be smaller. Those to be read are all zero before. */
enum { HWI_PASS_GROUP_ITEMS = 4096 };
void hwi_pass_array(struct hwi_pass *pass, const struct hwi_fields *fields, void *items, size_t count);

/* An array with its count: made where the pass reads, by calloc, with room for `spare` more. *items is NULL where it failed or,
 * without spare ones, none are there. */
void hwi_pass_list(struct hwi_pass *pass, const struct hwi_fields *fields, void **items, size_t *count, size_t spare);

/* The same of a list of table.h, which has no items before where the pass reads. */
void hwi_pass_table(struct hwi_pass *pass, const struct hwi_fields *fields, void **items, size_t *count,
                    size_t *capacity);

#endif
