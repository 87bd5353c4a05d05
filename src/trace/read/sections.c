/* sections.c - loads a piece of a trace, raw or packed, into memory
 *
 * Files are read, never mapped: if a file is truncated meanwhile, the result is a short read, not a SIGBUS.
 */
#include "trace/read/sections.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/error.h"
#include "trace/decode.h"

bool hwi_section_is_plausible(const struct hw_section_header *section)
{
  return section->magic == HW_SECTION_MAGIC && section->first_sequence <= section->last_sequence &&
         section->plain_bytes <= HWI_UNPACK_MAX_BYTES &&
         section->packed_bytes <= 2 * (uint64_t)HWI_UNPACK_MAX_BYTES; /* more than incompressible data needs */
}

/* Returns the number of bytes read, which is less than `bytes` only at the end of the file, or a negative value on
 * failure. */
static ssize_t read_all(int fd, void *to, size_t bytes, uint64_t off)
{
  size_t done = 0;
  while (done < bytes) {
    ssize_t got = pread(fd, (uint8_t *)to + done, bytes - done, (off_t)(off + done));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return got;
    if (!got)
      break;
    done += (size_t)got;
  }
  return (ssize_t)done;
}

static int load_chunk(struct hwi_unpacked *loaded, int fd, const struct hw_trace_header *trace,
                      const struct hwi_piece *piece)
{
  struct hw_chunk_header chunk;
  if (!hwi_index_read_chunk(fd, trace, piece->off, &chunk) || chunk.stream != piece->stream ||
      chunk.sequence != piece->first_sequence)
    return HW_ERR_BUSY;
  if (chunk.valid_bytes > piece->bytes) /* events that were written after the index was built are ignored */
    chunk.valid_bytes = (uint32_t)piece->bytes;
  size_t bytes = sizeof chunk + chunk.valid_bytes;
  uint8_t *made = malloc(bytes + HWI_DECODE_PADDING);
  if (!made)
    return HW_ERR_MEMORY;
  ssize_t got = read_all(fd, made + sizeof chunk, chunk.valid_bytes, piece->off + sizeof chunk);
  if (got < 0) {
    free(made);
    return HW_ERR_IO;
  }
  /* If the chunk was given back meanwhile, the bytes that were just read may be zeros. */
  struct hw_chunk_header again;
  if (!hwi_index_read_chunk(fd, trace, piece->off, &again)) {
    free(made);
    return HW_ERR_BUSY;
  }
  chunk.valid_bytes = (uint32_t)got;
  memcpy(made, &chunk, sizeof chunk);
  memset(made + sizeof chunk + got, 0, HWI_DECODE_PADDING);
  *loaded = (struct hwi_unpacked){.bytes = made, .count = sizeof chunk + (size_t)got};
  return 0;
}

static int load_section(struct hwi_unpacked *loaded, int fd, const struct hwi_piece *piece)
{
  struct hw_section_header section;
  ssize_t got = read_all(fd, &section, sizeof section, piece->off);
  if (got < 0)
    return HW_ERR_IO;
  if (got < (ssize_t)sizeof section || !hwi_section_is_plausible(&section) || section.packed_bytes != piece->bytes)
    return HW_ERR_DAMAGED;
  uint8_t *packed = malloc(section.packed_bytes + 1);
  if (!packed)
    return HW_ERR_MEMORY;
  int status = HW_ERR_DAMAGED;
  got = read_all(fd, packed, section.packed_bytes, piece->off + sizeof section);
  if (got < 0)
    status = HW_ERR_IO;
  else if ((uint64_t)got == section.packed_bytes)
    status = hwi_unpack_section(&section, packed, loaded);
  free(packed);
  return status;
}

int hwi_piece_load(struct hwi_unpacked *loaded, int fd, const struct hw_trace_header *trace,
                   const struct hwi_piece *piece)
{
  *loaded = (struct hwi_unpacked){0};
  return piece->section ? load_section(loaded, fd, piece) : load_chunk(loaded, fd, trace, piece);
}
