/* packed.c - long columns of numbers in a JSON document: varints in base64 */
#include "page/packed.h"

#include <stdlib.h>
#include <string.h>

#include "base/varint.h"
#include "report/selection/figures.h"

static void release(struct hwi_packed *packed)
{
  free(packed->bytes);
  *packed = (struct hwi_packed){0};
}

static bool make_room(struct hwi_packed *packed)
{
  const size_t least = 4096;
  if (packed->room - packed->count >= HWI_VARINT_MAX_BYTES)
    return true;
  size_t room = packed->room > 0 ? packed->room * 2 : least;
  uint8_t *bytes = realloc(packed->bytes, room);
  if (!bytes) {
    packed->failed = true;
    return false;
  }
  packed->bytes = bytes;
  packed->room = room;
  return true;
}

void hwi_packed_add(struct hwi_packed *packed, uint64_t value)
{
  if (make_room(packed))
    packed->count = (size_t)(hwi_put_varint(packed->bytes + packed->count, value) - packed->bytes);
}

void hwi_packed_add_signed(struct hwi_packed *packed, int64_t value)
{
  hwi_packed_add(packed, hwi_zigzag(value));
}

/* --- base64, RFC 4648 --- */

enum { BYTES_A_GROUP = 3, DIGITS_A_GROUP = 4, DIGIT_BITS = 6, BYTE_BITS = 8 };

static void put_group(FILE *out, const uint8_t *bytes, size_t count)
{
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  char text[DIGITS_A_GROUP];
  uint32_t group = 0;
  for (size_t i = 0; i < BYTES_A_GROUP; i++)
    group = group << BYTE_BITS | (i < count ? bytes[i] : 0U);
  for (size_t i = 0; i < DIGITS_A_GROUP; i++)
    text[i] = i > count ? '=' : digits[group >> (DIGITS_A_GROUP - 1 - i) * DIGIT_BITS & ((1U << DIGIT_BITS) - 1)];
  fwrite(text, 1, sizeof text, out);
}

void hwi_json_packed(struct hwi_json *json, const char *key, struct hwi_packed *packed)
{
  hwi_json_begin_text(json, key);
  for (size_t at = 0; at < packed->count; at += BYTES_A_GROUP)
    put_group(json->out, packed->bytes + at, packed->count - at < BYTES_A_GROUP ? packed->count - at : BYTES_A_GROUP);
  hwi_json_end_text(json);
  json->failed |= packed->failed;
  release(packed);
}

/* --- tables --- */

static uint64_t number_at(const struct hwi_table_rows *rows, size_t row, const struct hwi_column *column)
{
  uint64_t value;
  memcpy(&value, (const char *)rows->items + row * rows->item_bytes + column->offset, sizeof value);
  return value;
}

void hwi_json_packed_columns(struct hwi_json *json, const struct hwi_table_rows *rows, const struct hwi_column *columns)
{
  struct hwi_packed packed = {0};
  for (; columns->key; columns++) {
    for (size_t row = 0; row < rows->count; row++)
      hwi_packed_add(&packed, number_at(rows, row, columns));
    hwi_json_packed(json, columns->key, &packed);
  }
}

void hwi_json_packed_lifetimes(struct hwi_json *json, const struct hwi_table_rows *rows, size_t offset)
{
  struct hwi_column columns[HWI_LIFETIMES + 1] = {0};
  for (int i = 0; i < HWI_LIFETIMES; i++)
    columns[i] = (struct hwi_column){hwi_lifetime_keys[i], offset + (size_t)i * sizeof(uint64_t)};
  hwi_json_begin_object(json, "lifetimes");
  hwi_json_packed_columns(json, rows, columns);
  hwi_json_end_object(json);
}

static void put_number(struct hwi_json *json, uint64_t number)
{
  hwi_json_number(json, NULL, number);
}

static void put_reference(struct hwi_json *json, uint64_t number)
{
  hwi_json_signed(json, NULL, (int64_t)number - 1);
}

static void write_arrays(struct hwi_json *json, const struct hwi_table_rows *rows, const struct hwi_column *columns,
                         void (*put)(struct hwi_json *json, uint64_t number))
{
  for (; columns->key; columns++) {
    hwi_json_begin_array(json, columns->key);
    for (size_t row = 0; row < rows->count; row++)
      put(json, number_at(rows, row, columns));
    hwi_json_end_array(json);
  }
}

void hwi_json_plain_columns(struct hwi_json *json, const struct hwi_table_rows *rows, const struct hwi_column *columns)
{
  write_arrays(json, rows, columns, put_number);
}

void hwi_json_reference_columns(struct hwi_json *json, const struct hwi_table_rows *rows,
                                const struct hwi_column *columns)
{
  write_arrays(json, rows, columns, put_reference);
}
