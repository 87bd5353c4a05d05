/* compact.c - turns a raw trace, partly packed or not packed at all, into a packed file: all of it, or what it had at a
 * moment
 *
 * Sections that a packer appended after the window are copied unchanged; raw chunks that are in no section are packed.
 * A chunk may be in both places if a packer was killed after it wrote the section and before it gave back the chunk.
 *
 * Of a trace that is cut at a moment, the pieces that may have later events are unpacked and packed again without them.
 * A chunk that is packed and given back meanwhile is taken from its section.
 */
#include "launch/pack/compact.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launch/pack/section_file.h"
#include "trace/read/hold.h"
#include "trace/read/index.h"
#include "trace/read/tool_area.h"

enum { SYNC_FROM_BYTES = 256 << 10, COPY_BYTES = 1 << 18 };

struct job {
  int from;
  struct hwi_section_file to;
  bool (*interrupted)(void);
  const struct hwi_cut *cut;
  struct hw_trace_header header;
  struct hwi_index index;
  uint32_t target; /* plain bytes per section */
  uint8_t *plain;  /* chunks waiting to be packed */
  size_t plain_bytes, plain_room;
  struct hw_chunk_header last; /* last chunk in `plain` */
  struct hwi_compacted *result;
};

static int flush(struct job *job)
{
  if (!job->plain_bytes)
    return 0;
  int status = hwi_section_pack(&job->to, job->plain, job->plain_bytes);
  job->plain_bytes = 0;
  return status;
}

static int add_plain(struct job *job, const uint8_t *chunk_bytes, size_t bytes)
{
  struct hw_chunk_header chunk;
  memcpy(&chunk, chunk_bytes, sizeof chunk);
  bool joins = job->plain_bytes && chunk.stream == job->last.stream && chunk.sequence == job->last.sequence + 1 &&
               job->plain_bytes + bytes <= job->target;
  int status = joins ? 0 : flush(job);
  if (status < 0)
    return status;
  if (job->plain_bytes + bytes > job->plain_room) {
    size_t room = job->plain_bytes + bytes + job->target;
    uint8_t *made = realloc(job->plain, room + HWI_DECODE_PADDING);
    if (!made)
      return HW_ERR_MEMORY;
    memset(made + room, 0, HWI_DECODE_PADDING);
    job->plain = made;
    job->plain_room = room;
  }
  memcpy(job->plain + job->plain_bytes, chunk_bytes, bytes);
  job->plain_bytes += bytes;
  job->last = chunk;
  return 0;
}

static int copy_bytes(struct job *job, uint64_t from, uint64_t bytes)
{
  uint8_t *buffer = malloc(COPY_BYTES);
  int status = buffer ? 0 : HW_ERR_MEMORY;
  while (bytes && status == 0) {
    size_t part = bytes < COPY_BYTES ? (size_t)bytes : COPY_BYTES;
    ssize_t got = pread(job->from, buffer, part, (off_t)from);
    if (got == 0)
      errno = EIO; /* it was there when the file was indexed */
    if (got <= 0 || pwrite(job->to.fd, buffer, (size_t)got, (off_t)job->to.off) != got) {
      status = HW_ERR_IO;
      break;
    }
    from += (uint64_t)got;
    job->to.off += (uint64_t)got;
    bytes -= (uint64_t)got;
  }
  free(buffer);
  return status;
}

static int copy_section(struct job *job, const struct hwi_piece *piece)
{
  struct hw_section_header section;
  int status = flush(job);
  if (status < 0)
    return status;
  if (pread(job->from, &section, sizeof section, (off_t)piece->off) != (ssize_t)sizeof section)
    return HW_ERR_IO;
  job->to.event_count += section.type == HW_SECTION_EVENTS ? section.event_count : 0;
  status = copy_bytes(job, piece->off, sizeof section + piece->bytes);
  job->to.off = (job->to.off + 7) & ~UINT64_C(7);
  return status;
}

/* Copies the BASE section after those that it completes. */
static int copy_base(struct job *job)
{
  return job->index.from_tick ? copy_section(job, &job->index.base.piece) : 0;
}

/* Packs the chunks of a piece from `from_sequence` on, without events that are too late. `loaded` is the piece. */
static int pack_part(struct job *job, const struct hwi_piece *piece, const struct hwi_unpacked *loaded,
                     uint32_t from_sequence)
{
  struct hwi_part part = {.from_sequence = from_sequence, .until = UINT64_MAX};
  struct hw_section_header section;
  const uint8_t *packed;
  if (job->cut) {
    part.until = job->cut->tick;
    part.goes_on = job->cut->header.state == HW_STATE_SAVED;
  }
  if (piece->section && pread(job->from, &section, sizeof section, (off_t)piece->off) != (ssize_t)sizeof section)
    return HW_ERR_IO;
  int status = flush(job);
  if (status == 0)
    status = hwi_pack_part(job->to.packer, loaded, &part, &section, &packed);
  if (status == 0)
    return hwi_section_write(&job->to, &section, packed);
  if (status != HW_ERR_DAMAGED && status != HW_ERR_LIMIT)
    return status;
  /* What is damaged stays as it is. */
  return piece->section ? copy_section(job, piece) : add_plain(job, loaded->bytes, loaded->count);
}

/* Packs a piece whose earlier chunks are packed already. A chunk that was packed and given back since it was found is in
 * a section now, which then becomes *piece. `is_whole`: all of its events are wanted. */
static int pack_piece(struct job *job, struct hwi_piece *piece, uint32_t from_sequence, bool is_whole)
{
  struct hwi_unpacked loaded;
  if (piece->section && (is_whole || piece->stream == HW_BASE_STREAM))
    return copy_section(job, piece);
  int status = hwi_piece_load(&loaded, job->from, &job->header, piece);
  if (status == HW_ERR_BUSY &&
      hwi_index_find_late(&job->index, job->from, piece->stream, piece->first_sequence, piece)) {
    is_whole = false;
    status = hwi_piece_load(&loaded, job->from, &job->header, piece);
  }
  if (status == HW_ERR_DAMAGED && piece->section)
    return copy_section(job, piece);
  if (status == HW_ERR_BUSY || status == HW_ERR_DAMAGED) /* shows as a gap in the sequence */
    return 0;
  if (status == 0)
    status = is_whole ? add_plain(job, loaded.bytes, loaded.count) : pack_part(job, piece, &loaded, from_sequence);
  hwi_unpacked_release(&loaded);
  return status;
}

/* Returns whether all events of the piece are wanted. Times within a stream never decrease. */
static bool is_wanted(const struct job *job, const struct hwi_piece *piece)
{
  const struct hwi_piece *end = job->index.pieces + job->index.count, *after = piece;
  while (after < end && after->stream == piece->stream && after->first_sequence <= piece->last_sequence)
    after++;
  return !job->cut || job->cut->tick == UINT64_MAX ||
         (after < end && after->stream == piece->stream && after->first_tick < job->cut->tick);
}

/* Pieces come sorted by stream and first sequence, raw chunks first. */
static int pack_pieces(struct job *job)
{
  int status = 0;
  uint32_t stream = UINT32_MAX;
  uint64_t next_sequence = 0;
  for (size_t i = 0; i < job->index.count && status == 0; i++) {
    const struct hwi_piece *found = &job->index.pieces[i], *after = found + 1;
    struct hwi_piece piece = *found;
    if (job->interrupted && job->interrupted()) {
      errno = EINTR;
      return HW_ERR_IO;
    }
    if (piece.stream != stream) {
      stream = piece.stream;
      next_sequence = 0;
    }
    bool is_twice = !piece.section && i + 1 < job->index.count && after->section && after->stream == stream &&
                    after->first_sequence == piece.first_sequence;
    if (is_twice || piece.last_sequence < next_sequence)
      continue;
    status = pack_piece(job, &piece, (uint32_t)next_sequence, is_wanted(job, found));
    next_sequence = (uint64_t)piece.last_sequence + 1;
  }
  if (status == 0)
    status = flush(job);
  return status < 0 ? status : copy_base(job); /* pieces of a base are the last ones */
}

/* Removes the records of tools after the moment. Returns how many bytes are left. */
static size_t drop_later(const struct job *job, uint8_t *records, size_t bytes)
{
  struct hw_tool_record record;
  size_t kept = 0;
  for (size_t at = 0, next; job->cut && at + sizeof record <= bytes; at = next) {
    memcpy(&record, records + at, sizeof record);
    next = at + sizeof record + ((record.bytes + (size_t)7) & ~(size_t)7);
    if (!record.type || next > bytes)
      break;
    if (record.monotonic_ns > job->cut->monotonic_ns)
      continue;
    memmove(records + kept, records + at, next - at);
    kept += next - at;
  }
  return job->cut ? kept : bytes;
}

static int pack_tool_records(struct job *job, uint8_t *records, size_t bytes)
{
  struct hw_section_header section;
  const uint8_t *packed;
  bytes = drop_later(job, records, bytes);
  int status = bytes ? hwi_pack_bytes(job->to.packer, HW_SECTION_TOOL, records, bytes, &section, &packed) : 0;
  return bytes && status == 0 ? hwi_section_write(&job->to, &section, packed) : status;
}

static int pack_tool_area(struct job *job)
{
  uint8_t *area = malloc(HW_TOOL_AREA_BYTES);
  if (!area)
    return HW_ERR_MEMORY;
  ssize_t bytes = hwi_tool_area_load(job->from, 0, area);
  int status = bytes < 0 ? HW_ERR_IO : pack_tool_records(job, area, (size_t)bytes);
  free(area);
  return status;
}

static int pack_tool_section(struct job *job, const struct hwi_piece *piece)
{
  struct hwi_unpacked loaded;
  if (!job->cut)
    return copy_section(job, piece);
  int status = hwi_piece_load(&loaded, job->from, &job->header, piece);
  if (status == HW_ERR_DAMAGED)
    return copy_section(job, piece);
  if (status == 0)
    status = pack_tool_records(job, loaded.bytes, loaded.count);
  hwi_unpacked_release(&loaded);
  return status;
}

static uint32_t count_streams(const struct hwi_index *index)
{
  uint32_t count = 0;
  for (size_t i = 0; i < index->count; i++)
    count += i == 0 || index->pieces[i].stream != index->pieces[i - 1].stream;
  return count;
}

static int write_file(struct job *job)
{
  union {
    struct hw_trace_header header;
    uint8_t bytes[HW_TRACE_HEADER_BYTES];
  } first = {.bytes = {0}};
  first.header = job->cut ? job->cut->header : job->header;
  first.header.kind = HW_TRACE_PACKED;
  first.header.window_bytes = HW_TRACE_HEADER_BYTES;
  job->to.off = HW_TRACE_HEADER_BYTES;
  job->to.least_tick = job->header.sample_bytes ? job->index.from_tick : 0;
  if (pwrite(job->to.fd, &first, sizeof first, 0) != (ssize_t)sizeof first)
    return HW_ERR_IO;
  int status = 0;
  if (job->header.kind == HW_TRACE_RAW)
    status = pack_tool_area(job);
  for (size_t i = 0; i < job->index.tool_count && status == 0; i++)
    status = pack_tool_section(job, &job->index.tool_sections[i]);
  if (status == 0)
    status = pack_pieces(job);
  if (status == 0) {
    struct hw_section_header end = {.magic = HW_SECTION_MAGIC, .type = HW_SECTION_END};
    status = hwi_section_write(&job->to, &end, NULL);
  }
  if (status == 0 && job->to.off >= SYNC_FROM_BYTES && fdatasync(job->to.fd) < 0)
    status = HW_ERR_IO;
  return status;
}

static int run_job(struct job *job)
{
  struct stat about;
  if (fstat(job->from, &about) < 0 ||
      pread(job->from, &job->header, sizeof job->header, 0) != (ssize_t)sizeof job->header)
    return HW_ERR_IO;
  hwi_hold_begin(job->from);
  int status = hwi_index_build(&job->index, job->from, &job->header, (uint64_t)about.st_size);
  job->target = hwi_section_target(count_streams(&job->index));
  return status < 0 ? status : write_file(job);
}

static int open_new(const char *path)
{
  int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  struct stat about;
  int fd = open(path, flags, 0600);
  if (fd < 0 && errno == EEXIST && lstat(path, &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == geteuid() &&
      unlink(path) == 0)
    fd = open(path, flags, 0600);
  if (fd >= 0)
    (void)!fchmod(fd, 0600); /* the umask may have removed these bits */
  return fd;
}

/* Returns whether the open file still has this name: another recording of the same name may have taken it. */
static bool has_name(int fd, const char *name)
{
  struct stat own, named;
  return fstat(fd, &own) == 0 && lstat(name, &named) == 0 && own.st_dev == named.st_dev && own.st_ino == named.st_ino;
}

int hwi_compact(const struct hwi_compaction *compaction, struct hwi_compacted *result, struct hwi_error *error)
{
  const char *from = compaction->from, *to = compaction->to;
  struct job job = {
      .from = compaction->fd, .to = {.packer = compaction->packer, .fd = -1, .is_unnamed = true}, .result = result};
  job.interrupted = compaction->interrupted;
  job.cut = compaction->cut;
  *result = (struct hwi_compacted){0};
  char *temporary = NULL;
  if (asprintf(&temporary, "%s.packing", to) < 0)
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory to pack %s", from);
  int status = HW_ERR_IO;
  bool is_taken = false;
  job.to.fd = open_new(temporary);
  if (job.to.fd >= 0) {
    status = run_job(&job);
    is_taken = (strcmp(from, to) == 0 && !has_name(compaction->fd, from)) || !has_name(job.to.fd, temporary);
    if (is_taken)
      status = HW_ERR_BUSY;
    else if (status == 0 && rename(temporary, to) < 0)
      status = HW_ERR_IO;
  }
  if (is_taken)
    hwi_error_set(error, status, "cannot pack %s: another recording has taken its name meanwhile", from);
  else if (status < 0)
    hwi_error_set(error, status, "cannot pack %s into %s: %s", from, to,
                  status == HW_ERR_IO ? strerror(errno) : hwi_status_text(status));
  if (status < 0 && job.to.fd >= 0 && has_name(job.to.fd, temporary))
    unlink(temporary);
  result->bytes = job.to.off;
  result->event_count = job.to.event_count;
  if (job.to.fd >= 0)
    close(job.to.fd);
  hwi_index_release(&job.index);
  free(job.plain);
  free(temporary);
  return status;
}
