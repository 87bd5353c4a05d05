/* drain.c - packs one raw trace while its program writes it */
#include "launch/follow/drain.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "launch/pack/section_file.h"
#include "platform/os_tools.h"
#include "trace/clock.h"
#include "trace/decode.h"
#include "trace/grow.h"
#include "trace/read/alive.h"
#include "trace/read/index.h"

enum { UNREAD_MAX_BYTES = 64 << 20 };
static const uint64_t CHUNK_DELAY_MAX_NS = 2000000;   /* until the first chunk of a new thread is visible */
static const uint64_t EVENT_DELAY_MAX_NS = 200000000; /* that a thread may wait in the middle of an event */

/* Goes on with a ring that another packer began, after the last section that it completed. */
static int take_over_ring(struct hwi_drain *drain, uint64_t file_bytes)
{
  struct hwi_index index;
  int status = hwi_index_build(&index, drain->fd, &drain->header, file_bytes);
  if (status == 0) {
    drain->append_off = (index.sections_end + 7) & ~UINT64_C(7);
    drain->ring.from_tick = index.from_tick;
    status = ftruncate(drain->fd, (off_t)drain->append_off) < 0 ? HW_ERR_IO : 0;
  }
  hwi_index_release(&index);
  return status;
}

int hwi_drain_open(struct hwi_drain *drain, char *path, const uint8_t run_id[HW_ID_BYTES], const struct hwi_keep *keep)
{
  *drain = (struct hwi_drain){.path = path, .keep = *keep};
  drain->fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (drain->fd < 0)
    return HW_ERR_IO;
  struct hw_trace_header *header = &drain->header;
  struct stat about = {0};
  (void)!fstat(drain->fd, &about);
  drain->inode = about.st_ino;
  ssize_t got = pread(drain->fd, header, sizeof *header, 0);
  if (got != (ssize_t)sizeof *header || memcmp(header->magic, HW_TRACE_MAGIC, HW_TRACE_MAGIC_BYTES) != 0 ||
      header->version != HW_TRACE_VERSION || header->kind != HW_TRACE_RAW || header->window_bytes < HW_CHUNKS_OFF ||
      header->window_bytes > INT64_MAX || memcmp(header->run_id, run_id, HW_ID_BYTES) != 0) {
    close(drain->fd);
    return HW_ERR_NOT_A_TRACE;
  }
  drain->pid = hwi_trace_process(drain->fd, header);
  drain->log.fd = drain->fd;
  drain->append_off = (header->window_bytes + 7) & ~UINT64_C(7);
  drain->is_packed_by_other = (uint64_t)about.st_size > drain->append_off;
  if ((keep->bytes || keep->ns) && drain->is_packed_by_other && take_over_ring(drain, (uint64_t)about.st_size) == 0)
    drain->is_packed_by_other = false;
  return 0;
}

void hwi_drain_close(struct hwi_drain *drain)
{
  close(drain->fd);
  free(drain->path);
  hwi_backlog_release(&drain->backlog);
  free(drain->plain);
  hwi_follower_destroy(drain->follower);
  hwi_ring_release(&drain->ring);
  *drain = (struct hwi_drain){.fd = -1};
}

/* --- counting --- */

void hwi_drain_begin_counting(struct hwi_drain *drain)
{
  if (!drain->is_packed_by_other)
    drain->follower = hwi_follower_create(drain->fd, &drain->header, hwi_section_target(1));
}

static void pass_chunks(const struct hwi_drain *drain)
{
  for (size_t i = 0; i < drain->backlog.count; i++) {
    const struct hwi_backlog_chunk *chunk = &drain->backlog.chunks[i];
    hwi_follower_chunk(drain->follower, &(struct hwi_seen_chunk){chunk->off, chunk->stream, chunk->sequence});
  }
}

/* Counts events of the known chunks. Returns false if there are no more for now. */
static bool count_more(const struct hwi_drain *drain)
{
  if (!drain->follower)
    return false;
  pass_chunks(drain);
  return hwi_follower_work(drain->follower);
}

static bool is_ring(const struct hwi_drain *drain)
{
  return drain->keep.bytes || drain->keep.ns;
}

static bool is_single(const struct hwi_drain *drain)
{
  return drain->follower && hwi_follower_is_single(drain->follower);
}

static bool is_counted(const struct hwi_drain *drain, const struct hwi_backlog_chunk *chunk)
{
  return !drain->follower || hwi_follower_failed(drain->follower) ||
         hwi_follower_has_read(drain->follower, chunk->stream, chunk->sequence);
}

/* Gives up counting if too many chunks wait to be counted: packing must go on. */
static void give_up_if_behind(const struct hwi_drain *drain)
{
  uint64_t bytes = 0;
  for (size_t i = 0; i < drain->backlog.count; i++)
    bytes += drain->backlog.chunks[i].retired && !is_counted(drain, &drain->backlog.chunks[i])
                 ? drain->backlog.chunks[i].bytes
                 : 0;
  if (bytes > UNREAD_MAX_BYTES)
    hwi_follower_give_up(drain->follower);
}

/* --- packing --- */

/* Returns how many chunks from `first` on make up a section, and sets *bytes to their plain bytes. Returns 0 if there
 * are not enough yet. */
static size_t choose(const struct hwi_drain *drain, size_t first, size_t *bytes)
{
  const struct hwi_backlog_chunk *chunks = drain->backlog.chunks;
  uint32_t target = hwi_section_target(drain->backlog.streams);
  size_t i = first;
  *bytes = 0;
  while (i < drain->backlog.count && chunks[i].retired && is_counted(drain, &chunks[i]) && *bytes < target) {
    if (i > first && (chunks[i].stream != chunks[first].stream || chunks[i].sequence != chunks[i - 1].sequence + 1))
      break;
    *bytes += sizeof(struct hw_chunk_header) + chunks[i].valid_bytes;
    i++;
  }
  return *bytes >= target ? i - first : 0;
}

/* Reads `count` chunks into drain->plain, starting with `first`. Returns false if they have changed. */
static bool read_chunks(struct hwi_drain *drain, const struct hwi_backlog_chunk *first, size_t count, size_t bytes)
{
  if (!hwi_grow((void **)&drain->plain, &drain->plain_capacity, bytes + HWI_DECODE_PADDING, 1))
    return false;
  size_t at = 0;
  for (size_t i = 0; i < count; i++) {
    size_t wanted = sizeof(struct hw_chunk_header) + first[i].valid_bytes;
    struct hw_chunk_header chunk;
    if (pread(drain->fd, drain->plain + at, wanted, (off_t)first[i].off) != (ssize_t)wanted)
      return false;
    memcpy(&chunk, drain->plain + at, sizeof chunk);
    if (chunk.valid_bytes != first[i].valid_bytes || chunk.sequence != first[i].sequence)
      return false;
    at += wanted;
  }
  return true;
}

static void stop(struct hwi_drain *drain)
{
  drain->stopped = true;
  drain->os_error = errno;
}

/* Writes the sections in [start, append_off) to the disk, then frees the disk space of their chunks. If the file system
 * does not support holes, the chunks stay; readers drop duplicates. */
static void free_disk_space(struct hwi_drain *drain, uint64_t start, size_t first, size_t count)
{
  if (!hwi_os_write_out(drain->fd, start, drain->append_off - start)) {
    stop(drain);
    return;
  }
  for (size_t i = first; i < first + count; i++)
    hwi_os_punch_hole(drain->fd, drain->backlog.chunks[i].off, drain->backlog.chunks[i].bytes);
}

static struct hwi_section_file next_section(const struct hwi_drain *drain, struct hwi_packer *packer)
{
  return (struct hwi_section_file){.packer = packer,
                                   .fd = drain->fd,
                                   .off = drain->append_off,
                                   .least_tick = drain->header.sample_bytes ? drain->ring.from_tick : 0};
}

/* Packs the chunks [first, first + count); they stay in the backlog. */
static int pack_section(struct hwi_drain *drain, struct hwi_packer *packer, size_t first, size_t count, size_t bytes)
{
  uint64_t start = drain->append_off;
  struct hwi_section_file file = next_section(drain, packer);
  if (!read_chunks(drain, &drain->backlog.chunks[first], count, bytes))
    return 0; /* they are packed when the file is compacted, as far as they are valid */
  int status = hwi_section_pack(&file, drain->plain, bytes);
  if (status == HW_ERR_IO) {
    stop(drain);
    (void)!ftruncate(drain->fd, (off_t)start);
    return 0;
  }
  drain->append_off = file.off;
  if (status == 0)
    free_disk_space(drain, start, first, count);
  return status == HW_ERR_DAMAGED ? 0 : status;
}

/* Packs the section that was made while counting; its chunks are the first of the backlog. */
static int pack_counted(struct hwi_drain *drain, struct hwi_packer *packer)
{
  uint64_t start = drain->append_off;
  struct hwi_section_file file = next_section(drain, packer);
  struct hw_section_header section;
  const uint8_t *packed;
  int status = hwi_follower_pack(drain->follower, packer, &section, &packed);
  if (status == 0)
    status = hwi_section_write(&file, &section, packed);
  if (status == HW_ERR_IO) {
    stop(drain);
    (void)!ftruncate(drain->fd, (off_t)start);
    return 0;
  }
  if (status < 0)
    return status;
  size_t count = 0;
  while (count < drain->backlog.count && drain->backlog.chunks[count].sequence <= section.last_sequence)
    count++;
  drain->append_off = file.off;
  free_disk_space(drain, start, 0, count);
  hwi_backlog_drop_first(&drain->backlog, count);
  return 0;
}

static bool look_for_chunks(struct hwi_drain *drain, bool is_over)
{
  if (drain->follower && is_over)
    hwi_follower_begin(drain->follower, UINT64_MAX, UINT64_MAX);
  else if (drain->follower)
    hwi_follower_begin(drain->follower, hwi_clock_tick_ago(&drain->header, CHUNK_DELAY_MAX_NS),
                       hwi_clock_tick_ago(&drain->header, EVENT_DELAY_MAX_NS));
  hwi_index_update_header(drain->fd, &drain->header);
  return hwi_backlog_look(&drain->backlog, drain->fd, &drain->header);
}

void hwi_drain_count_rest(struct hwi_drain *drain, struct hwi_packer *packer)
{
  if (!drain->follower)
    return;
  if (!look_for_chunks(drain, true))
    hwi_follower_give_up(drain->follower);
  int status = 0;
  for (bool more = true; more && status == 0 && !drain->stopped;) {
    more = count_more(drain);
    if (!more && hwi_follower_has_section(drain->follower)) {
      status = pack_counted(drain, packer);
      more = true;
    }
  }
  if (status == 0 && !drain->stopped && hwi_follower_end(drain->follower))
    (void)!pack_counted(drain, packer); /* on failure the rest is packed when the file is compacted */
}

static bool is_turn_over(const struct hwi_turn *turn)
{
  return hwi_monotonic_ns() >= turn->end_ns || turn->interrupted();
}

/* Packs chunks that fill sections. Packs at least one section, if there is one, even if the turn is over. Sets *packed
 * if it packed any. */
static int pack_streams(struct hwi_drain *drain, struct hwi_packer *packer, const struct hwi_turn *turn, bool *packed)
{
  int status = 0;
  size_t kept = 0, i = 0;
  while (i < drain->backlog.count && status == 0) {
    size_t bytes, count = drain->stopped || (*packed && is_turn_over(turn)) ? 0 : choose(drain, i, &bytes);
    if (count) {
      status = pack_section(drain, packer, i, count, bytes);
      *packed = true;
      i += count;
    } else {
      drain->backlog.chunks[kept++] = drain->backlog.chunks[i++];
    }
  }
  while (i < drain->backlog.count)
    drain->backlog.chunks[kept++] = drain->backlog.chunks[i++];
  drain->backlog.count = kept;
  return status;
}

/* The same for a trace with only one stream. */
static int pack_single(struct hwi_drain *drain, struct hwi_packer *packer, bool *packed)
{
  *packed = hwi_follower_has_section(drain->follower);
  return *packed ? pack_counted(drain, packer) : 0;
}

/* Drops what need not be kept. */
static int turn_ring(struct hwi_drain *drain, struct hwi_packer *packer, bool is_over)
{
  const struct hwi_ring_trace trace = {drain->fd, &drain->header, &drain->append_off, is_over};
  if (!is_ring(drain) || drain->stopped)
    return 0;
  hwi_ring_move_limit(&trace, &drain->keep);
  int status = hwi_ring_work(&drain->ring, &trace, &drain->keep, packer);
  if (status == HW_ERR_IO)
    stop(drain);
  return status == HW_ERR_MEMORY ? status : 0;
}

/* Alternates between counting and packing, so that a turn that ends early has done some of both. */
int hwi_drain_work(struct hwi_drain *drain, struct hwi_packer *packer, const struct hwi_turn *turn, bool *more)
{
  bool counted, packed;
  *more = false;
  if (drain->stopped || drain->is_packed_by_other)
    return 0;
  if (!look_for_chunks(drain, false))
    return HW_ERR_MEMORY;
  hwi_packer_set_effort(packer, hwi_effort_for(hwi_backlog_waiting_bytes(&drain->backlog)));
  do {
    packed = false;
    counted = count_more(drain);
    if (!counted)
      give_up_if_behind(drain);
    int status = is_single(drain) ? pack_single(drain, packer, &packed) : pack_streams(drain, packer, turn, &packed);
    if (status < 0)
      return status;
    *more = !drain->stopped && (counted || packed);
  } while (*more && !is_turn_over(turn));
  return turn_ring(drain, packer, false);
}

static bool is_never_interrupted(void)
{
  return false;
}

void hwi_drain_end_ring(struct hwi_drain *drain, struct hwi_packer *packer)
{
  const struct hwi_turn turn = {UINT64_MAX, is_never_interrupted};
  bool packed = false;
  if (!is_ring(drain) || drain->stopped || !look_for_chunks(drain, true))
    return;
  if (pack_streams(drain, packer, &turn, &packed) == 0)
    (void)!turn_ring(drain, packer, true); /* on failure more is kept */
}
