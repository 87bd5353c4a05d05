/* columns.c - the columns of a summary's lists
 *
 * A column is stored in planes: the lowest byte of each value, then the next byte of each, up to the highest byte that
 * any value needs. Neighbouring values have similar higher bytes, so that zstd compresses these planes very well and
 * quickly. A reader assembles a value without branches: about four instructions per value, while varints, whose lengths
 * cannot be predicted, took fifty. cmake/Tool.cmake makes the compiler process many values at once, which halves that.
 */
#include <string.h>

#include "base/error.h"
#include "base/varint.h"
#include "profile/columns/pass.h"

enum {
  PLANES_MOST = 8,
  COLUMN_ALL_ALIKE = PLANES_MOST + 1, /* instead of the number of planes: one value for all items follows */
  BYTE_BITS = 8,
  SOME_ITEMS = 512, /* their values fit into the L1 cache */
};

_Static_assert((int)PLANES_MOST *(int)HWI_PASS_GROUP_ITEMS <= (int)HWI_PASS_ROOM_BYTES, "all planes of a column");

/* One field of a group of items. */
struct column {
  uint8_t *at; /* in the first item */
  size_t item_bytes, count;
};

static inline __attribute__((always_inline)) uint64_t load(const uint8_t *at, unsigned bytes)
{
  uint64_t value = 0;
  memcpy(&value, at, bytes); /* all supported machines are little-endian */
  return value;
}

/* --- writing --- */

/* The common properties of a column's values. */
struct sight {
  uint64_t first;
  uint64_t bits;        /* of all stored values */
  uint64_t differences; /* bits in which any value differs from the first one */
};

/* Computes the stored value of each item. The value before the first item counts as 0. */
static inline __attribute__((always_inline)) struct sight values_of(uint64_t *values, struct column column,
                                                                    unsigned bytes, bool near)
{
  const uint64_t first = load(column.at, bytes);
  uint64_t last = 0, bits = 0, differences = 0;
  for (size_t i = 0; i < column.count; i++, column.at += column.item_bytes) {
    uint64_t value = load(column.at, bytes);
    values[i] = near ? hwi_zigzag((int64_t)(value - last)) : value;
    bits |= values[i];
    differences |= value ^ first;
    last = value;
  }
  return (struct sight){first, bits, differences};
}

/* Makes the width a constant for the compiler. */
static inline __attribute__((always_inline)) struct sight values_wide(uint64_t *values, struct column column,
                                                                      unsigned bytes, bool near)
{
  switch (bytes) {
  case sizeof(uint64_t):
    return values_of(values, column, sizeof(uint64_t), near);
  case sizeof(uint32_t):
    return values_of(values, column, sizeof(uint32_t), near);
  case sizeof(uint16_t):
    return values_of(values, column, sizeof(uint16_t), near);
  default:
    return values_of(values, column, sizeof(uint8_t), near);
  }
}

static struct sight look_at(uint64_t *values, struct column column, const struct hwi_field *field)
{
  return field->order == HWI_FIELD_NEAR ? values_wide(values, column, field->bytes, true)
                                        : values_wide(values, column, field->bytes, false);
}

static unsigned planes_of(uint64_t bits)
{
  unsigned planes = 0;
  for (; bits; bits >>= BYTE_BITS)
    planes++;
  return planes;
}

static void write_column(struct hwi_pass *pass, const struct hwi_field *field, struct column column)
{
  uint64_t values[HWI_PASS_GROUP_ITEMS], way = COLUMN_ALL_ALIKE;
  struct sight sight = look_at(values, column, field);
  if (!sight.differences && sight.first) {
    hwi_pass_number(pass, &way);
    hwi_pass_number(pass, &sight.first);
    return;
  }
  way = planes_of(sight.bits);
  hwi_pass_number(pass, &way);
  for (unsigned plane = 0; plane < way; plane++) {
    uint8_t *to = hwi_pass_room(pass, column.count);
    const unsigned shift = plane * BYTE_BITS;
    for (size_t i = 0; i < column.count; i++)
      to[i] = (uint8_t)(values[i] >> shift);
  }
}

/* --- reading --- */

/* Assembles the next `count` values from the planes of `all` items. */
static inline void gather_of(uint64_t *values, const uint8_t *planes, size_t all, size_t count, unsigned plane_count)
{
  for (size_t i = 0; i < count; i++) {
    uint64_t value = 0;
    for (unsigned plane = 0; plane < plane_count; plane++)
      value |= (uint64_t)planes[plane * all + i] << plane * BYTE_BITS;
    values[i] = value;
  }
}

/* Makes the number of planes a constant for the compiler. */
static void gather(uint64_t *values, const uint8_t *planes, size_t all, size_t count, unsigned plane_count)
{
  switch (plane_count) {
  case 1:
    gather_of(values, planes, all, count, 1);
    break;
  case 2:
    gather_of(values, planes, all, count, 2);
    break;
  case 3:
    gather_of(values, planes, all, count, 3);
    break;
  case 4:
    gather_of(values, planes, all, count, 4);
    break;
  case 5:
    gather_of(values, planes, all, count, 5);
    break;
  case 6:
    gather_of(values, planes, all, count, 6);
    break;
  default:
    gather_of(values, planes, all, count, plane_count);
  }
}

/* Stores the values in their items; `*last` is the value of the item before. Returns the bitwise or of all values. */
static inline uint64_t scatter_of(struct column to, const uint64_t *values, uint64_t *last, unsigned bytes, bool near)
{
  uint64_t bits = 0, before = *last;
  for (size_t i = 0; i < to.count; i++, to.at += to.item_bytes) {
    uint64_t value = values[i];
    if (near)
      before = value = before + ((value >> 1) ^ -(value & 1));
    bits |= value;
    memcpy(to.at, &value, bytes);
  }
  *last = before;
  return bits;
}

/* Makes the width a constant for the compiler. */
static inline uint64_t scatter_wide(struct column to, const uint64_t *values, uint64_t *last, unsigned bytes, bool near)
{
  switch (bytes) {
  case sizeof(uint64_t):
    return scatter_of(to, values, last, sizeof(uint64_t), near);
  case sizeof(uint32_t):
    return scatter_of(to, values, last, sizeof(uint32_t), near);
  case sizeof(uint16_t):
    return scatter_of(to, values, last, sizeof(uint16_t), near);
  default:
    return scatter_of(to, values, last, sizeof(uint8_t), near);
  }
}

static uint64_t scatter(struct column to, const uint64_t *values, uint64_t *last, const struct hwi_field *field)
{
  return field->order == HWI_FIELD_NEAR ? scatter_wide(to, values, last, field->bytes, true)
                                        : scatter_wide(to, values, last, field->bytes, false);
}

/* Returns the bitwise or of the column's values. */
static uint64_t read_planes(struct hwi_pass *pass, const struct hwi_field *field, struct column column, unsigned planes)
{
  uint64_t values[SOME_ITEMS], last = 0, bits = 0;
  const uint8_t *from = hwi_pass_take(pass, planes * column.count);
  for (size_t left = column.count, count; from && left; left -= count, from += count) {
    struct column some = column;
    some.count = count = left < SOME_ITEMS ? left : SOME_ITEMS;
    gather(values, from, column.count, count, planes);
    column.at += count * column.item_bytes;
    bits |= scatter(some, values, &last, field);
  }
  return bits;
}

static uint64_t read_alike(struct hwi_pass *pass, const struct hwi_field *field, struct column column)
{
  uint64_t value = 0;
  hwi_pass_number(pass, &value);
  for (size_t i = 0; i < column.count; i++, column.at += column.item_bytes)
    memcpy(column.at, &value, field->bytes);
  return value;
}

/* Reads into items that are zero. A bool with other bits than 0 and 1 is never used: its pass has failed. */
static void read_column(struct hwi_pass *pass, const struct hwi_field *field, struct column column)
{
  const unsigned bits = field->is_bool ? 1 : BYTE_BITS * field->bytes;
  uint64_t way = 0, found = 0;
  hwi_pass_number(pass, &way);
  if (way > COLUMN_ALL_ALIKE)
    hwi_pass_fail(pass, HW_ERR_DAMAGED);
  else if (way == COLUMN_ALL_ALIKE)
    found = read_alike(pass, field, column);
  else if (way > 0)
    found = read_planes(pass, field, column, (unsigned)way);
  if (bits < BYTE_BITS * sizeof found && found >> bits)
    hwi_pass_fail(pass, HW_ERR_DAMAGED);
}

/* --- groups and lists --- */

static void pass_group(struct hwi_pass *pass, const struct hwi_fields *fields, uint8_t *items, size_t count)
{
  for (size_t f = 0; f < fields->count && pass->status == 0; f++) {
    const struct hwi_field *field = &fields->list[f];
    for (unsigned i = 0; i < field->repeat; i++) {
      const struct column column = {items + field->off + (size_t)i * field->bytes, fields->item_bytes, count};
      if (pass->writes)
        write_column(pass, field, column);
      else
        read_column(pass, field, column);
    }
  }
}

void hwi_pass_array(struct hwi_pass *pass, const struct hwi_fields *fields, void *items, size_t count)
{
  for (size_t first = 0; first < count && pass->status == 0; first += HWI_PASS_GROUP_ITEMS) {
    size_t left = count - first;
    pass_group(pass, fields, (uint8_t *)items + first * fields->item_bytes,
               left < HWI_PASS_GROUP_ITEMS ? left : HWI_PASS_GROUP_ITEMS);
  }
}
