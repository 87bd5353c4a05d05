/* sequences.c - follows the pointers in vectors and deques of the C++ library
 *
 * What their blocks have behind the last element is left over from earlier: it is not looked at.
 */
#include "memory/types/type_spread.h"
#include "symbols/library_types.h"

enum {
  MAP_WORD,
  MAP_LENGTH_WORD,
  FIRST_WORD,
  FIRST_PLACE_WORD = 5,
  END_WORD,
  END_BEGIN_WORD,
  END_PLACE_WORD = 9,
  WORDS
};

/* Reads the first words of a container. */
static bool read_words(struct hwi_type_spread *spread, uint64_t address, uint64_t *words, unsigned count)
{
  const unsigned word = spread->reader.memory->word_bytes;
  for (unsigned i = 0; i < count; i++)
    if (!hwi_memory_word(&spread->reader, address + i * word, &words[i]))
      return false;
  return words[0] != 0;
}

static void follow_vector(struct hwi_type_spread *spread, uint32_t element, uint64_t address,
                          const struct hwi_type_walk *walk)
{
  enum { BEGIN, END, ROOM_END, VECTOR_WORDS };
  uint64_t words[VECTOR_WORDS];
  const uint64_t bytes = hwi_data_types_get(&spread->types->data, element)->bytes;
  if (!bytes || !read_words(spread, address, words, VECTOR_WORDS) || words[BEGIN] > words[END] ||
      words[END] > words[ROOM_END])
    return;
  const struct hwi_claim claim = {element, words[BEGIN], true, (words[END] - words[BEGIN]) / bytes};
  hwi_type_spread_claim(spread, &claim, walk);
}

static void follow_deque(struct hwi_type_spread *spread, uint32_t record, uint32_t element, uint64_t address,
                         const struct hwi_type_walk *walk)
{
  struct hwi_data_types *data = &spread->types->data;
  const unsigned word = spread->reader.memory->word_bytes;
  const uint64_t bytes = hwi_data_types_get(data, element)->bytes;
  const uint32_t map = hwi_data_types_inner(data, record, "_Map_pointer");
  uint64_t words[WORDS], place, block;
  if (!bytes || !read_words(spread, address, words, WORDS))
    return;
  if (map && hwi_data_types_get(data, map)->kind == HWI_DATA_POINTER) {
    const struct hwi_claim claim = {hwi_data_types_get(data, map)->target, words[MAP_WORD], true, 0};
    hwi_type_spread_claim(spread, &claim, walk);
  }
  const uint64_t last = words[END_PLACE_WORD], map_end = words[MAP_WORD] + words[MAP_LENGTH_WORD] * word;
  for (place = words[FIRST_PLACE_WORD]; place >= words[MAP_WORD] && place <= last && place < map_end; place += word) {
    const uint64_t left = words[END_WORD] - words[END_BEGIN_WORD];
    const uint64_t count = (place == last ? left : HWI_LIBRARY_DEQUE_BYTES) / bytes;
    if (!hwi_memory_word(&spread->reader, place, &block))
      return;
    hwi_type_spread_claim(spread, &(struct hwi_claim){element, block, true, count ? count : place != last}, walk);
  }
}

bool hwi_type_spread_sequence(struct hwi_type_spread *spread, uint32_t record, uint64_t address,
                              const struct hwi_type_walk *walk)
{
  struct hwi_data_types *data = &spread->types->data;
  const enum hwi_library_sequence kind = hwi_library_sequence_of(hwi_data_types_get(data, record)->name);
  const uint32_t element = kind == HWI_LIBRARY_NO_SEQUENCE ? 0 : hwi_data_types_inner(data, record, "_Tp");
  if (!element)
    return false;
  if (kind == HWI_LIBRARY_VECTOR)
    follow_vector(spread, element, address, walk);
  else
    follow_deque(spread, record, element, address, walk);
  return true;
}
