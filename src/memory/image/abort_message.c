/* abort_message.c - what the C library wrote before it aborted the process
 *
 * glibc copies the message into memory that it maps for it alone: how many bytes are mapped (an unsigned int), the text, and
 * zeros up to the end. A variable in its data has the address. No symbol is needed: hardly anything else that a variable of a
 * module refers to looks like this.
 */
#include "memory/image/abort_message.h"

enum {
  MOST_BYTES = 1 << 20,
  MOST_TRIES = 256 /* in a forged core dump, all of them would look like one */
};

static bool is_text(const unsigned char *bytes, size_t count)
{
  for (size_t i = 0; i < count; i++)
    if ((bytes[i] < ' ' && bytes[i] != '\n' && bytes[i] != '\t') || bytes[i] == 0x7f)
      return false;
  return count > 0;
}

static bool is_zero(const unsigned char *bytes, size_t count)
{
  for (size_t i = 0; i < count; i++)
    if (bytes[i])
      return false;
  return true;
}

/* All zero at first, except for the reader's memory. */
struct search {
  struct hwi_memory_reader reader;
  size_t tries;
  const unsigned char *text; /* the message; NULL: not found */
  size_t length;
};

/* Looks for the message in a mapping that begins at the address. */
static bool find_at(struct search *search, uint64_t address)
{
  struct hwi_memory_reader *reader = &search->reader;
  const unsigned char *bytes = hwi_memory_bytes(reader, address, HWI_MEMORY_PAGE_BYTES);
  const uint32_t mapped = bytes ? hwi_memory_load_32(reader->memory, bytes) : 0;
  if (mapped == 0 || mapped % HWI_MEMORY_PAGE_BYTES || mapped > MOST_BYTES || !reader->region->is_writable ||
      reader->region->file || search->tries++ >= MOST_TRIES || !(bytes = hwi_memory_bytes(reader, address, mapped)))
    return false;
  const unsigned char *text = bytes + sizeof mapped;
  const size_t most = mapped - sizeof mapped;
  search->length = strnlen((const char *)text, most);
  if (is_text(text, search->length) && is_zero(text + search->length, most - search->length))
    search->text = text;
  return search->text;
}

static bool find_in(struct search *search, const struct hwi_region *region)
{
  const struct hwi_memory *memory = search->reader.memory;
  for (uint64_t off = 0; off + memory->word_bytes <= region->known; off += memory->word_bytes) {
    const uint64_t word = hwi_memory_load(memory, region->bytes + off);
    if (word && word % HWI_MEMORY_PAGE_BYTES == 0 && find_at(search, word))
      return true;
  }
  return false;
}

void hwi_abort_message_find(const struct hwi_memory *memory, char text[static HWI_ABORT_MESSAGE_BYTES])
{
  struct search search = {.reader.memory = memory};
  size_t length = 0;
  for (size_t i = 0; i < memory->region_count && !search.text; i++)
    if (hwi_memory_is_data(memory, i, true) && find_in(&search, &memory->regions[i]))
      length = search.length;
  while (length > 0 && search.text[length - 1] == '\n')
    length--;
  if (length >= HWI_ABORT_MESSAGE_BYTES)
    length = HWI_ABORT_MESSAGE_BYTES - 1;
  if (length > 0)
    memcpy(text, search.text, length);
  text[length] = 0;
}
