/* index.c - finds the chunks and sections of a trace file; any of its bytes may be forged
 *
 * A raw file is sparse: only its data extents are read. If a file system does not report holes, all of the window is
 * data and most of it was never written; then the scan ends at the first empty page after the header's used_bytes.
 * Chunks begin at page boundaries. A page that does not begin a plausible chunk is skipped alone, so that damage only
 * loses the damaged chunks. Sections follow each other; after a damaged one, every eighth byte is searched for the next
 * one.
 *
 * Files are read, never mapped: if a file is truncated meanwhile, the result is a short read, not a SIGBUS.
 */
#include "trace/read/index.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/error.h"
#include "trace/decode.h"
#include "trace/grow.h"

enum { SECTION_ALIGNMENT = 8, RESYNC_BYTES = 1 << 16, USUAL_EVENT_BYTES = 5, NODES_A_PACKED_BYTE = 4 };

void hwi_index_damage(struct hwi_index *index, uint64_t off)
{
  if (!index->damaged || off < index->first_damage)
    index->first_damage = off;
  index->damaged++;
}

static int add_piece(struct hwi_index *index, const struct hwi_piece *piece)
{
  if (index->count == index->capacity &&
      !hwi_grow((void **)&index->pieces, &index->capacity, index->count + 1, sizeof *index->pieces))
    return HW_ERR_MEMORY;
  index->pieces[index->count++] = *piece;
  index->event_bytes += piece->bytes;
  return 0;
}

/* --- raw chunks --- */

static bool chunk_is_plausible(const struct hw_trace_header *trace, uint64_t off, const struct hw_chunk_header *chunk)
{
  uint64_t tag;
  memcpy(&tag, trace->image_id, sizeof tag);
  return chunk->magic == HW_CHUNK_MAGIC && chunk->off == off && chunk->image_tag == tag &&
         chunk->bytes >= HW_CHUNK_MIN_BYTES && chunk->bytes <= HW_CHUNK_MAX_BYTES &&
         chunk->bytes % HW_CHUNK_MIN_BYTES == 0 && chunk->bytes <= trace->window_bytes - off &&
         chunk->valid_bytes <= chunk->bytes - sizeof *chunk;
}

/* Reads what may be a chunk's header. A thread writes its magic last (hwi_writer_publish), but a CPU that does not keep the order of
 * loads may copy it with older bytes around it. Two calls of pread are ordered: each takes a reference to the page, with a full
 * barrier. For the same reason the events are read by a later call than valid_bytes, which is in one word with the state. */
static ssize_t read_header(int fd, const struct hw_trace_header *trace, uint64_t off, struct hw_chunk_header *chunk)
{
  static_assert(offsetof(struct hw_chunk_header, valid_bytes) % sizeof(uint64_t) == 0 &&
                    offsetof(struct hw_chunk_header, state) == offsetof(struct hw_chunk_header, valid_bytes) + 4,
                "read at once");
  ssize_t got = pread(fd, chunk, sizeof *chunk, (off_t)off);
  if (got == (ssize_t)sizeof *chunk && chunk->magic == HW_CHUNK_MAGIC && !chunk_is_plausible(trace, off, chunk))
    got = pread(fd, chunk, sizeof *chunk, (off_t)off);
  return got;
}

bool hwi_index_read_chunk(int fd, const struct hw_trace_header *trace, uint64_t off, struct hw_chunk_header *chunk)
{
  return read_header(fd, trace, off, chunk) == (ssize_t)sizeof *chunk && chunk_is_plausible(trace, off, chunk);
}

void hwi_index_update_header(int fd, struct hw_trace_header *header)
{
  struct hw_trace_header now;
  if (pread(fd, &now, sizeof now, 0) != (ssize_t)sizeof now)
    return;
  memcpy(&now, header, offsetof(struct hw_trace_header, control));
  *header = now;
}

uint64_t hwi_index_next_data(int fd, uint64_t off, uint64_t end)
{
  off_t data = lseek(fd, (off_t)off, SEEK_DATA);
  if (data < 0)
    return errno == ENXIO ? end : off;
  return (uint64_t)data & ~(uint64_t)(HW_CHUNK_MIN_BYTES - 1);
}

static int walk_chunks(struct hwi_index *index, int fd, const struct hw_trace_header *trace, uint64_t file_bytes)
{
  uint64_t end = trace->window_bytes < file_bytes ? trace->window_bytes : file_bytes;
  uint64_t off = HW_CHUNKS_OFF;
  while (off < end) {
    struct hw_chunk_header chunk = {0};
    ssize_t got = read_header(fd, trace, off, &chunk);
    if (got < 0)
      return HW_ERR_IO;
    if (got == (ssize_t)sizeof chunk && chunk_is_plausible(trace, off, &chunk)) {
      struct hwi_piece piece = {
          .off = off,
          .bytes = chunk.valid_bytes,
          .first_tick = chunk.base_tick,
          .stream = chunk.stream,
          .first_sequence = chunk.sequence,
          .last_sequence = chunk.sequence,
      };
      int status = add_piece(index, &piece);
      if (status < 0)
        return status;
      index->event_count += chunk.valid_bytes / USUAL_EVENT_BYTES;
      off += chunk.bytes;
    } else if (!chunk.magic) { /* a hole, or a chunk that was never finished: its magic is written last */
      uint64_t data = hwi_index_next_data(fd, off, end);
      if (data <= off && off >= trace->used_bytes)
        return 0;
      off = data > off ? data : off + HW_CHUNK_MIN_BYTES;
    } else {
      hwi_index_damage(index, off);
      off += HW_CHUNK_MIN_BYTES;
    }
  }
  return 0;
}

/* --- sections --- */

/* Returns the next offset where the magic of a section is found, or file_bytes. */
static uint64_t resync(int fd, uint64_t off, uint64_t file_bytes)
{
  uint8_t block[RESYNC_BYTES];
  const uint32_t magic = HW_SECTION_MAGIC;
  while (off < file_bytes) {
    ssize_t got = pread(fd, block, sizeof block, (off_t)off);
    if (got < (ssize_t)sizeof magic)
      return file_bytes;
    for (ssize_t i = 0; i + (ssize_t)sizeof magic <= got; i += SECTION_ALIGNMENT)
      if (!memcmp(block + i, &magic, sizeof magic))
        return off + (uint64_t)i;
    off += sizeof block;
  }
  return file_bytes;
}

static struct hwi_piece piece_of(uint64_t off, const struct hw_section_header *section)
{
  return (struct hwi_piece){
      .off = off,
      .bytes = section->packed_bytes,
      .first_tick = section->first_tick,
      .last_tick = section->last_tick,
      .stream = section->stream,
      .first_sequence = section->first_sequence,
      .last_sequence = section->last_sequence,
      .section = true,
  };
}

static int add_left(struct hwi_index *index, const struct hwi_piece *piece)
{
  if (!hwi_grow((void **)&index->left, &index->left_capacity, index->left_count + 1, sizeof *piece))
    return HW_ERR_MEMORY;
  index->left[index->left_count++] = *piece;
  return 0;
}

/* A base is complete if all of its sections directly precede it. */
static void take_base(struct hwi_index *index, const struct hwi_piece *piece)
{
  if (piece->stream != index->left_count) {
    hwi_index_damage(index, piece->off);
    return;
  }
  free(index->base.left);
  index->base = (struct hwi_index_base){*piece, index->left, index->left_count};
  index->left = NULL;
  index->left_capacity = 0;
}

static int add_section(struct hwi_index *index, uint64_t off, const struct hw_section_header *section)
{
  const struct hwi_piece piece = piece_of(off, section);
  if (section->type == HW_SECTION_LEFT)
    return add_left(index, &piece);
  if (section->type == HW_SECTION_BASE)
    take_base(index, &piece);
  index->left_count = 0;
  switch (section->type) {
  case HW_SECTION_EVENTS:
    if (piece.stream == HW_BASE_STREAM)
      return 0;
    index->event_count += section->event_count <= section->plain_bytes ? section->event_count : section->plain_bytes;
    return add_piece(index, &piece);
  case HW_SECTION_TOOL:
    if (index->tool_count == index->tool_capacity &&
        !hwi_grow((void **)&index->tool_sections, &index->tool_capacity, index->tool_count + 1, sizeof piece))
      return HW_ERR_MEMORY;
    index->tool_sections[index->tool_count++] = piece;
    return 0;
  case HW_SECTION_END:
    index->ended = true;
    return 0;
  default: /* of a later version */
    return 0;
  }
}

/* Reads the header of the section at `off` into `section`. Returns false if there is no plausible section. */
static bool read_section(int fd, uint64_t off, uint64_t file_bytes, struct hw_section_header *section)
{
  return off + sizeof *section <= file_bytes &&
         pread(fd, section, sizeof *section, (off_t)off) == (ssize_t)sizeof *section &&
         hwi_section_is_plausible(section) && section->packed_bytes <= file_bytes - off - sizeof *section;
}

static uint64_t section_end(uint64_t off, const struct hw_section_header *section)
{
  uint64_t end = off + sizeof *section + section->packed_bytes;
  return (end + SECTION_ALIGNMENT - 1) & ~(uint64_t)(SECTION_ALIGNMENT - 1);
}

/* `appended`: the sections were appended after a raw window. An incomplete section at the end, where the packer was
 * killed, is then no damage: the raw chunks are still in the window. */
static int walk_sections(struct hwi_index *index, int fd, uint64_t off, uint64_t file_bytes, bool appended)
{
  bool in_damage = false;
  index->sections_end = off;
  while (off < file_bytes) {
    struct hw_section_header section;
    if (!read_section(fd, off, file_bytes, &section)) {
      uint64_t next = resync(fd, off + SECTION_ALIGNMENT, file_bytes);
      if (!in_damage && !(appended && next >= file_bytes))
        hwi_index_damage(index, off);
      in_damage = true;
      off = next;
      continue;
    }
    in_damage = false;
    int status = add_section(index, off, &section);
    if (status < 0)
      return status;
    off = section_end(off, &section);
    index->sections_end = off;
  }
  return 0;
}

int hwi_index_add_sections(struct hwi_index *index, int fd)
{
  const off_t file_bytes = lseek(fd, 0, SEEK_END);
  struct hw_section_header section;
  int status = 0;
  while (file_bytes > 0 && status == 0 && read_section(fd, index->sections_end, (uint64_t)file_bytes, &section)) {
    status = add_section(index, index->sections_end, &section);
    index->sections_end = section_end(index->sections_end, &section);
  }
  return status;
}

bool hwi_index_find_late(struct hwi_index *index, int fd, uint32_t stream, uint32_t sequence, struct hwi_piece *piece)
{
  off_t file_bytes = lseek(fd, 0, SEEK_END);
  struct hw_section_header section;
  for (uint64_t off = index->sections_end; file_bytes > 0 && read_section(fd, off, (uint64_t)file_bytes, &section);
       off = section_end(off, &section)) {
    if (section.type != HW_SECTION_EVENTS || section.stream != stream || section.first_sequence > sequence ||
        section.last_sequence < sequence)
      continue;
    *piece = piece_of(off, &section);
    return true;
  }
  return false;
}

/* --- building the index --- */

uint64_t hwi_piece_most_nodes(const struct hwi_piece *piece)
{
  return piece->section ? piece->bytes * NODES_A_PACKED_BYTE : piece->bytes;
}

int hwi_piece_compare(const void *left, const void *right)
{
  const struct hwi_piece *a = left, *b = right;
  if (a->stream != b->stream)
    return a->stream < b->stream ? -1 : 1;
  if (a->first_sequence != b->first_sequence)
    return a->first_sequence < b->first_sequence ? -1 : 1;
  if (a->section != b->section)
    return a->section ? 1 : -1;
  return a->off < b->off ? -1 : a->off > b->off;
}

uint64_t hwi_index_sections_off(const struct hw_trace_header *header)
{
  if (header->kind != HW_TRACE_RAW)
    return header->header_bytes;
  const bool is_moved = header->sections_off > header->window_bytes && header->sections_off % SECTION_ALIGNMENT == 0;
  return is_moved ? header->sections_off : header->window_bytes;
}

/* Replaces the sections that were dropped by those of the base. */
static int use_base(struct hwi_index *index)
{
  if (!index->base.piece.section)
    return 0;
  index->from_tick = index->base.piece.first_tick;
  size_t kept = 0;
  for (size_t i = 0; i < index->count; i++) {
    const struct hwi_piece *piece = &index->pieces[i];
    if (!piece->section || piece->last_tick >= index->from_tick)
      index->pieces[kept++] = *piece;
    else
      index->event_bytes -= piece->bytes;
  }
  index->count = kept;
  int status = 0;
  for (size_t i = 0; i < index->base.left_count && status == 0; i++) {
    struct hwi_piece piece = index->base.left[i];
    piece.stream = HW_BASE_STREAM;
    piece.first_sequence = piece.last_sequence = (uint32_t)i;
    status = add_piece(index, &piece);
  }
  return status;
}

int hwi_index_build(struct hwi_index *index, int fd, const struct hw_trace_header *header, uint64_t file_bytes)
{
  *index = (struct hwi_index){0};
  int status = 0;
  struct hw_trace_header now = *header;
  if (header->kind == HW_TRACE_RAW) {
    /* Chunks first: a chunk that is packed and given back during the scan is then found among the sections. */
    status = walk_chunks(index, fd, header, file_bytes);
    hwi_index_update_header(fd, &now);
  }
  if (status == 0)
    status = walk_sections(index, fd, hwi_index_sections_off(&now), file_bytes, header->kind == HW_TRACE_RAW);
  if (status == 0)
    status = use_base(index);
  if (status == 0 && header->kind == HW_TRACE_PACKED && !index->ended)
    hwi_index_damage(index, file_bytes); /* truncated */
  if (status == 0 && index->count)
    qsort(index->pieces, index->count, sizeof *index->pieces, hwi_piece_compare);
  return status;
}

void hwi_index_release(struct hwi_index *index)
{
  free(index->pieces);
  free(index->tool_sections);
  free(index->left);
  free(index->base.left);
  *index = (struct hwi_index){0};
}

/* --- contents --- */

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
      chunk.sequence != piece->first_sequence || chunk.valid_bytes < piece->from)
    return HW_ERR_BUSY;
  if (chunk.valid_bytes > piece->bytes && piece->bytes >= piece->from) /* later events are ignored */
    chunk.valid_bytes = (uint32_t)piece->bytes;
  const size_t wanted = chunk.valid_bytes - piece->from;
  uint8_t *made = malloc(sizeof chunk + wanted + HWI_DECODE_PADDING);
  if (!made)
    return HW_ERR_MEMORY;
  ssize_t got = read_all(fd, made + sizeof chunk, wanted, piece->off + sizeof chunk + piece->from);
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
  chunk.valid_bytes = piece->from + (uint32_t)got;
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
