/* pprof_difference.c - what changed from one profile.proto to a later one of the same run
 *
 * The two may number their parts differently. Each part is written with the new numbers of the parts that it names, but
 * without its own; equal parts are then equal bytes, and get one new number. So strings, mappings, functions, locations and
 * samples are joined, in this order.
 */
#include "export/pprof/pprof_difference.h"

#include <stdlib.h>
#include <string.h>

#include "export/compression.h"
#include "export/pprof/pprof_fields.h"
#include "export/pprof/protobuf.h"
#include "trace/grow.h"
#include "trace/store.h"

enum { VALUES = 4, READ_BYTES = 1 << 16 };

/* The parts of a kind: those of both profiles, and the new numbers of one's. */
struct parts {
  struct hwi_store store;
  uint32_t *numbers; /* by the number in the profile that is being read; 0: none */
  size_t room;
};

struct profile {
  uint8_t *bytes;
  size_t count, room;
  uint64_t time_ns, duration_ns;
};

struct difference {
  struct parts strings, mappings, functions, locations; /* of strings, new numbers are from 1, old ones from 0 */
  struct hwi_store samples;
  uint64_t number_max;     /* of the profile that is being read: each part takes bytes of it */
  int64_t (*sums)[VALUES]; /* by sample */
  size_t sum_room;
  struct hwi_protobuf_message part, inner, whole;
  bool failed; /* no memory, or no profile */
};

/* --- numbers --- */

static void set_number(struct difference *all, struct parts *parts, uint64_t old, uint32_t number)
{
  if (number == 0 || old > all->number_max ||
      !hwi_grow((void **)&parts->numbers, &parts->room, (size_t)old + 1, sizeof *parts->numbers))
    all->failed = true;
  else
    parts->numbers[old] = number;
}

/* A part that is not known is an error, except number 0, which is none. */
static uint64_t new_number(struct difference *all, const struct parts *parts, uint64_t old)
{
  const uint32_t number = old < parts->room ? parts->numbers[old] : 0;
  const bool is_string = parts == &all->strings;
  all->failed |= number == 0 && (old > 0 || is_string);
  return is_string && number > 0 ? number - 1 : number;
}

/* Ends the part that was written to `part`. Returns its number. */
static uint32_t end_part(struct difference *all, struct hwi_store *store)
{
  const uint32_t number =
      hwi_store_intern(store, all->part.bytes ? all->part.bytes : (const uint8_t *)"", all->part.count);
  all->failed |= all->part.failed || number == 0;
  all->part.count = 0;
  return number;
}

/* --- one profile --- */

static void read_string(struct difference *all, const struct hwi_protobuf_field *field, uint64_t number)
{
  set_number(all, &all->strings, number, hwi_store_intern(&all->strings.store, field->bytes, field->count));
}

static void read_mapping(struct difference *all, const struct hwi_protobuf_field *whole)
{
  struct hwi_protobuf_field field;
  uint64_t id = 0;
  for (const uint8_t *at = whole->bytes; hwi_protobuf_next(&at, whole->bytes + whole->count, &field);)
    if (field.number == MAPPING_ID)
      id = field.value;
    else
      hwi_protobuf_number(&all->part, field.number,
                          field.number == MAPPING_FILE || field.number == MAPPING_BUILD_ID
                              ? new_number(all, &all->strings, field.value)
                              : field.value);
  set_number(all, &all->mappings, id, end_part(all, &all->mappings.store));
}

static void read_function(struct difference *all, const struct hwi_protobuf_field *whole)
{
  struct hwi_protobuf_field field;
  uint64_t id = 0;
  for (const uint8_t *at = whole->bytes; hwi_protobuf_next(&at, whole->bytes + whole->count, &field);)
    if (field.number == FUNCTION_ID)
      id = field.value;
    else
      hwi_protobuf_number(&all->part, field.number, new_number(all, &all->strings, field.value));
  set_number(all, &all->functions, id, end_part(all, &all->functions.store));
}

static void read_line(struct difference *all, const struct hwi_protobuf_field *whole)
{
  struct hwi_protobuf_field field;
  for (const uint8_t *at = whole->bytes; hwi_protobuf_next(&at, whole->bytes + whole->count, &field);)
    hwi_protobuf_number(&all->inner, field.number,
                        field.number == LINE_FUNCTION ? new_number(all, &all->functions, field.value) : field.value);
  hwi_protobuf_nested(&all->part, LOCATION_LINE, &all->inner);
}

static void read_location(struct difference *all, const struct hwi_protobuf_field *whole)
{
  struct hwi_protobuf_field field;
  uint64_t id = 0;
  for (const uint8_t *at = whole->bytes; hwi_protobuf_next(&at, whole->bytes + whole->count, &field);)
    if (field.number == LOCATION_ID)
      id = field.value;
    else if (field.number == LOCATION_LINE)
      read_line(all, &field);
    else
      hwi_protobuf_number(&all->part, field.number,
                          field.number == LOCATION_MAPPING ? new_number(all, &all->mappings, field.value)
                                                           : field.value);
  set_number(all, &all->locations, id, end_part(all, &all->locations.store));
}

static void read_label(struct difference *all, const struct hwi_protobuf_field *whole)
{
  struct hwi_protobuf_field field;
  for (const uint8_t *at = whole->bytes; hwi_protobuf_next(&at, whole->bytes + whole->count, &field);)
    hwi_protobuf_number(&all->inner, field.number, new_number(all, &all->strings, field.value));
  hwi_protobuf_nested(&all->part, SAMPLE_LABEL, &all->inner);
}

static void read_sample(struct difference *all, const struct hwi_protobuf_field *whole, int64_t sign)
{
  struct hwi_protobuf_field field;
  uint64_t values[VALUES] = {0}, value;
  int count = 0;
  for (const uint8_t *at = whole->bytes; hwi_protobuf_next(&at, whole->bytes + whole->count, &field);) {
    const uint8_t *item = field.bytes, *end = field.bytes + field.count;
    if (field.number == SAMPLE_LABEL) {
      read_label(all, &field);
    } else if (field.number == SAMPLE_LOCATIONS) {
      while (hwi_protobuf_next_packed(&item, end, &value))
        hwi_protobuf_packed(&all->inner, new_number(all, &all->locations, value));
      hwi_protobuf_nested(&all->part, SAMPLE_LOCATIONS, &all->inner);
    } else {
      while (count < VALUES && hwi_protobuf_next_packed(&item, end, &value))
        values[count++] = value;
    }
  }
  const uint32_t number = end_part(all, &all->samples);
  if (!hwi_grow((void **)&all->sums, &all->sum_room, (size_t)number + 1, sizeof *all->sums)) {
    all->failed = true;
    return;
  }
  for (int i = 0; i < VALUES; i++)
    all->sums[number][i] += sign * (int64_t)values[i];
}

static void read_part(struct difference *all, struct profile *profile, const struct hwi_protobuf_field *field,
                      int64_t sign)
{
  if (field->number == PROFILE_MAPPING)
    read_mapping(all, field);
  else if (field->number == PROFILE_FUNCTION)
    read_function(all, field);
  else if (field->number == PROFILE_LOCATION)
    read_location(all, field);
  else if (field->number == PROFILE_SAMPLE)
    read_sample(all, field, sign);
  else if (field->number == PROFILE_TIME_NS)
    profile->time_ns = field->value;
  else if (field->number == PROFILE_DURATION_NS)
    profile->duration_ns = field->value;
}

static void forget_numbers(struct parts *parts)
{
  if (parts->numbers)
    memset(parts->numbers, 0, parts->room * sizeof *parts->numbers);
}

static void read_profile(struct difference *all, struct profile *profile, int64_t sign)
{
  static const uint32_t order[] = {PROFILE_STRING, PROFILE_MAPPING, PROFILE_FUNCTION,   PROFILE_LOCATION,
                                   PROFILE_SAMPLE, PROFILE_TIME_NS, PROFILE_DURATION_NS};
  struct parts *const kinds[] = {&all->strings, &all->mappings, &all->functions, &all->locations};
  struct hwi_protobuf_field field;
  uint64_t strings = 0;
  all->number_max = profile->count;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    forget_numbers(kinds[i]);
  for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
    const uint8_t *at = profile->bytes;
    while (!all->failed && hwi_protobuf_next(&at, profile->bytes + profile->count, &field))
      if (field.number == order[i] && order[i] == PROFILE_STRING)
        read_string(all, &field, strings++);
      else if (field.number == order[i])
        read_part(all, profile, &field, sign);
    all->failed |= !at;
  }
}

/* --- the result --- */

static void put_type(struct difference *all, const struct hwi_protobuf_field *whole)
{
  struct hwi_protobuf_field field;
  for (const uint8_t *at = whole->bytes; hwi_protobuf_next(&at, whole->bytes + whole->count, &field);)
    hwi_protobuf_number(&all->part, field.number, new_number(all, &all->strings, field.value));
  hwi_protobuf_nested(&all->whole, whole->number, &all->part);
}

/* The later profile's own fields. It was read last, so its numbers are known. */
static void put_head(struct difference *all, const struct profile *earlier, const struct profile *later)
{
  struct hwi_protobuf_field field;
  const uint8_t *at = later->bytes;
  while (hwi_protobuf_next(&at, later->bytes + later->count, &field))
    if (field.number == PROFILE_SAMPLE_TYPE || field.number == PROFILE_PERIOD_TYPE)
      put_type(all, &field);
    else if (field.number == PROFILE_COMMENT || field.number == PROFILE_DEFAULT_TYPE)
      hwi_protobuf_number(&all->whole, field.number, new_number(all, &all->strings, field.value));
    else if (field.number == PROFILE_PERIOD)
      hwi_protobuf_number(&all->whole, field.number, field.value);
  hwi_protobuf_number(&all->whole, PROFILE_TIME_NS, earlier->time_ns + earlier->duration_ns);
  hwi_protobuf_number(&all->whole, PROFILE_DURATION_NS, later->duration_ns - earlier->duration_ns);
}

static void put_parts(struct difference *all, uint32_t kind, const struct hwi_store *store, FILE *out)
{
  enum { ID = 1 };
  for (uint32_t i = 1; i <= store->string_count; i++) {
    hwi_protobuf_number(&all->part, ID, i);
    hwi_protobuf_append(&all->part, store->strings[i].text, store->strings[i].bytes);
    hwi_protobuf_nested(&all->whole, kind, &all->part);
    hwi_protobuf_flush(&all->whole, out);
  }
}

static void put_samples(struct difference *all, FILE *out)
{
  for (uint32_t i = 1; i <= all->samples.string_count; i++) {
    bool has_changed = false;
    for (int k = 0; k < VALUES; k++) {
      has_changed |= all->sums[i][k] != 0;
      hwi_protobuf_packed(&all->inner, (uint64_t)all->sums[i][k]);
    }
    hwi_protobuf_append(&all->part, all->samples.strings[i].text, all->samples.strings[i].bytes);
    hwi_protobuf_nested(&all->part, SAMPLE_VALUES, &all->inner);
    if (has_changed)
      hwi_protobuf_nested(&all->whole, PROFILE_SAMPLE, &all->part);
    all->part.count = 0;
    hwi_protobuf_flush(&all->whole, out);
  }
}

static void put_strings(struct difference *all, FILE *out)
{
  for (uint32_t i = 1; i <= all->strings.store.string_count; i++) {
    hwi_protobuf_item(&all->whole, PROFILE_STRING, all->strings.store.strings[i].text);
    hwi_protobuf_flush(&all->whole, out);
  }
}

static int write_result(struct difference *all, const struct profile *earlier, const struct profile *later, FILE *out,
                        struct hwi_error *error)
{
  FILE *compressed = hwi_compressed_open(out, HWI_COMPRESSION_GZIP);
  if (!compressed)
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory to compress a profile");
  put_head(all, earlier, later);
  hwi_protobuf_flush(&all->whole, compressed);
  put_parts(all, PROFILE_MAPPING, &all->mappings.store, compressed);
  put_parts(all, PROFILE_FUNCTION, &all->functions.store, compressed);
  put_parts(all, PROFILE_LOCATION, &all->locations.store, compressed);
  put_samples(all, compressed);
  put_strings(all, compressed);
  return hwi_compressed_close(compressed, out, error);
}

static bool load(struct profile *profile, FILE *in)
{
  size_t got;
  do {
    if (!hwi_grow((void **)&profile->bytes, &profile->room, profile->count + READ_BYTES, 1))
      return false;
    got = fread(profile->bytes + profile->count, 1, READ_BYTES, in);
    profile->count += got;
  } while (got > 0);
  return !ferror(in);
}

static void release(struct difference *all)
{
  struct parts *const kinds[] = {&all->strings, &all->mappings, &all->functions, &all->locations};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    hwi_store_release(&kinds[i]->store);
    free(kinds[i]->numbers);
  }
  hwi_store_release(&all->samples);
  free(all->sums);
  hwi_protobuf_release(&all->part);
  hwi_protobuf_release(&all->inner);
  hwi_protobuf_release(&all->whole);
}

int hwi_pprof_difference(FILE *earlier_in, FILE *later_in, FILE *out, struct hwi_error *error)
{
  struct profile earlier = {0}, later = {0};
  struct difference all = {0};
  all.failed = !load(&earlier, earlier_in) || !load(&later, later_in);
  if (!all.failed)
    read_profile(&all, &earlier, -1);
  if (!all.failed)
    read_profile(&all, &later, 1);
  int status = all.failed ? HW_ERR_MEMORY : write_result(&all, &earlier, &later, out, error);
  if (all.failed || all.part.failed || all.inner.failed || all.whole.failed)
    status = hwi_error_set(error, HW_ERR_MEMORY, "no memory to compare two profiles, or they are damaged");
  release(&all);
  free(earlier.bytes);
  free(later.bytes);
  return status;
}
