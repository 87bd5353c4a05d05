/* type_fit.c - whether a block can have a type, by its size and by its content
 *
 * A pointer to a type does not say how many of it there are, and it may be to the first part of something larger: a base class,
 * or a struct that C code begins with. A single object is recognized by its size alone. An array must be a multiple and must not be
 * of records that link to each other; if there are pointers in it, then also behind the first element, and each must be able to be
 * one. What is left begins with the type, and more is not said.
 */
#include "memory/types/type_spread.h"

#include <string.h>

enum {
  CHECKED_ELEMENTS = 64, /* of an array */
  LARGE_BYTES = 1 << 17, /* from here on, malloc rounds up to pages */
};

/* --- sizes --- */

/* Returns the usable bytes that glibc's malloc gives for a request. */
static uint64_t usual_bytes(uint64_t bytes, unsigned word)
{
  const uint64_t step = sizeof(long double), least = 3 * word;
  const uint64_t usual = ((bytes + word + step - 1) & ~(step - 1)) - word;
  return usual < least ? least : usual;
}

static bool fits_glibc(uint64_t usable, uint64_t bytes, unsigned word)
{
  const uint64_t usual = usual_bytes(bytes, word);
  return usable == usual || usable == usual + 2 * word /* a rest that is too small for a block */ ||
         (usable >= LARGE_BYTES && usable - bytes < HWI_MEMORY_PAGE_BYTES + 2 * word);
}

/* Returns whether a block with that many usable bytes may have been asked for with `bytes`, of one of the allocators. */
static bool fits(const struct hwi_type_spread *spread, uint64_t usable, uint64_t bytes)
{
  const unsigned allocators = spread->types->heap->allocators, glibc = 1U << HWI_CORE_GLIBC;
  const unsigned word = spread->reader.memory->word_bytes;
  if (usable <= bytes)
    return usable == bytes;
  return (allocators & glibc && fits_glibc(usable, bytes, word)) ||
         (allocators != glibc && usable - bytes <= bytes / 4 + 2 * word) /* classes are a quarter apart at most */;
}

/* --- content --- */

bool hwi_type_may_point(struct hwi_type_spread *spread, uint32_t target, uint64_t address)
{
  const struct hwi_block_index *index = spread->index;
  const struct hwi_data_type *of = target ? hwi_data_types_get(&spread->types->data, target) : NULL;
  const bool is_aligned = of && of->kind != HWI_DATA_SCALAR && of->bytes >= spread->reader.memory->word_bytes;
  const uint32_t block = hwi_block_index_find(index, &spread->span, address);
  if (!hwi_memory_region(spread->reader.memory, address) || (is_aligned && address % spread->reader.memory->word_bytes))
    return false;
  return block == HWI_NO_BLOCK || !of || hwi_core_block_end(&index->blocks[block]) - address >= of->bytes;
}

static bool elements_agree(struct hwi_type_spread *spread, uint32_t type, uint64_t bytes,
                           const struct hwi_core_block *block)
{
  const struct hwi_type_walk walk = {.is_check = true};
  const uint64_t all = hwi_core_block_bytes(block) / bytes, count = all < CHECKED_ELEMENTS ? all : CHECKED_ELEMENTS;
  spread->contradicts = false;
  for (uint64_t i = 0; i < count && !spread->contradicts; i++) {
    if (i <= 1)
      spread->agreed = 0;
    hwi_type_spread_value(spread, type, block->address + i * bytes, &walk);
  }
  const bool agree = !spread->contradicts;
  spread->contradicts = false;
  return agree && (spread->agreed || !hwi_data_types_have_pointers(&spread->types->data, type));
}

/* Returns whether an object points to others of its type: such are seldom in arrays, but often the first part of something. */
static bool is_linked(struct hwi_data_types *data, uint32_t type, uint32_t record, unsigned depth)
{
  enum { DEEPEST = 4 };
  const struct hwi_data_type of = *hwi_data_types_get(data, type);
  for (uint32_t i = 0; i < of.member_count; i++) {
    const uint32_t member = data->members[of.first_member + i].type;
    if (!member)
      continue;
    const struct hwi_data_type inner = *hwi_data_types_get(data, member);
    if (inner.kind == HWI_DATA_POINTER && inner.target == record)
      return true;
    if (inner.kind == HWI_DATA_RECORD && depth < DEEPEST && is_linked(data, member, record, depth + 1))
      return true;
  }
  return false;
}

/* --- forms --- */

static enum hwi_block_form form_of_record(struct hwi_type_spread *spread, uint32_t type,
                                          const struct hwi_core_block *block)
{
  struct hwi_data_types *data = &spread->types->data;
  const struct hwi_data_type of = *hwi_data_types_get(data, type);
  const uint64_t usable = hwi_core_block_bytes(block);
  if (of.bytes <= 1 || usable < of.bytes) /* a record without members is only a name */
    return HWI_FORM_POINTED;
  if (of.is_open || fits(spread, usable, of.bytes))
    return HWI_FORM_ONE;
  const bool is_array = fits(spread, usable, usable / of.bytes * of.bytes) && !is_linked(data, type, type, 0) &&
                        elements_agree(spread, type, of.bytes, block);
  return is_array ? HWI_FORM_ARRAY : HWI_FORM_BEGINS;
}

enum hwi_block_form hwi_type_form_of(struct hwi_type_spread *spread, const struct hwi_claim_kind *claim,
                                     const struct hwi_core_block *block)
{
  const uint32_t type = claim->target;
  const struct hwi_data_type *of = type ? hwi_data_types_get(&spread->types->data, type) : NULL;
  if (!of || !of->bytes || hwi_core_block_bytes(block) < of->bytes)
    return HWI_FORM_POINTED;
  if (of->kind == HWI_DATA_SCALAR)
    return HWI_FORM_SCALARS;
  if (claim->is_sequence && of->bytes <= hwi_core_block_bytes(block))
    return HWI_FORM_ARRAY;
  switch (of->kind) {
  case HWI_DATA_RECORD:
    return form_of_record(spread, type, block);
  default:
    return elements_agree(spread, type, of->bytes, block) ? HWI_FORM_ARRAY : HWI_FORM_POINTED;
  }
}
