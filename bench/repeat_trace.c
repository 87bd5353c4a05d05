/* repeat_trace.c FROM TO COUNT - makes a long recording: repeats a packed trace's events COUNT times
 *
 * Times in a section are relative to the first tick in its header, and its chunks to a sequence number in its header.
 * So the sections of a round are those of the trace with changed headers: each round repeats the program's events
 * later, by the largest tick of the trace (ticks begin when the machine started). Blocks that a round leaves allocated
 * are allocated again by the next round at the same addresses.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/format.h"

enum { SECTION_ALIGNMENT = 8, MOST_STREAMS = 1 << 16 };

struct source {
  const uint8_t *bytes;
  size_t count;
  uint64_t end_tick;                   /* after the last event */
  uint32_t chunk_counts[MOST_STREAMS]; /* per stream */
};

static _Noreturn void fail(const char *what)
{
  fprintf(stderr, "repeat_trace: %s\n", what);
  exit(1);
}

static size_t padded(size_t bytes)
{
  return (bytes + SECTION_ALIGNMENT - 1) & ~(size_t)(SECTION_ALIGNMENT - 1);
}

/* Reads the section header at `off`. Returns false if there is none. */
static bool section_at(const struct source *from, size_t off, struct hw_section_header *section)
{
  if (off + sizeof *section > from->count)
    return false;
  memcpy(section, from->bytes + off, sizeof *section);
  if (section->magic != HW_SECTION_MAGIC || section->packed_bytes > from->count - off - sizeof *section)
    fail("the trace is damaged");
  return true;
}

static size_t next_off(size_t off, const struct hw_section_header *section)
{
  return padded(off + sizeof *section + section->packed_bytes);
}

static void open_source(struct source *from, const char *path)
{
  struct stat about;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0 || fstat(fd, &about) < 0)
    fail("cannot open the trace");
  from->count = (size_t)about.st_size;
  from->bytes = mmap(NULL, from->count, PROT_READ, MAP_PRIVATE, fd, 0);
  const struct hw_trace_header *header = (const struct hw_trace_header *)from->bytes;
  if (from->bytes == MAP_FAILED || from->count < HW_TRACE_HEADER_BYTES || header->kind != HW_TRACE_PACKED)
    fail("FROM must be a packed trace");
  close(fd);
  struct hw_section_header section;
  for (size_t off = HW_TRACE_HEADER_BYTES; section_at(from, off, &section); off = next_off(off, &section)) {
    if (section.type != HW_SECTION_EVENTS)
      continue;
    if (section.stream >= MOST_STREAMS)
      fail("too many streams");
    if (section.last_sequence >= from->chunk_counts[section.stream])
      from->chunk_counts[section.stream] = section.last_sequence + 1;
    if (section.last_tick >= from->end_tick)
      from->end_tick = section.last_tick + 1;
  }
}

static void put(FILE *to, const void *bytes, size_t count)
{
  static const uint8_t zeros[SECTION_ALIGNMENT];
  if (fwrite(bytes, 1, count, to) != count || fwrite(zeros, 1, padded(count) - count, to) != padded(count) - count)
    fail("cannot write");
}

/* Both clocks' last time is later by the same amount. */
static void put_header(FILE *to, const struct source *from, uint64_t count)
{
  uint8_t page[HW_TRACE_HEADER_BYTES];
  struct hw_trace_header header;
  memcpy(page, from->bytes, sizeof page);
  memcpy(&header, page, sizeof header);
  uint64_t more = (from->end_tick << header.tick_shift) * (count - 1);
  double ns_per_unit =
      (double)(header.last.monotonic_ns - header.start.monotonic_ns) / (double)(header.last.clock - header.start.clock);
  header.last.clock += more;
  header.last.monotonic_ns += (uint64_t)((double)more * ns_per_unit);
  memcpy(page, &header, sizeof header);
  put(to, page, sizeof page);
}

/* Writes the sections with the events of a round, or all others. */
static void put_sections(FILE *to, const struct source *from, bool events, uint64_t round)
{
  struct hw_section_header section;
  for (size_t off = HW_TRACE_HEADER_BYTES; section_at(from, off, &section); off = next_off(off, &section)) {
    if ((section.type == HW_SECTION_EVENTS) != events)
      continue;
    if (events) {
      uint64_t chunks = round * from->chunk_counts[section.stream];
      if (chunks + section.last_sequence > UINT32_MAX)
        fail("too many chunks");
      section.first_sequence += (uint32_t)chunks;
      section.last_sequence += (uint32_t)chunks;
      section.first_tick += round * from->end_tick;
      section.last_tick += round * from->end_tick;
    }
    put(to, &section, sizeof section);
    put(to, from->bytes + off + sizeof section, section.packed_bytes);
  }
}

int main(int word_count, char **words)
{
  static struct source from;
  char *end;
  if (word_count != 4)
    fail("usage: repeat_trace FROM TO COUNT");
  uint64_t count = strtoull(words[3], &end, 10);
  if (*end || !count)
    fail("COUNT must be at least 1");
  open_source(&from, words[1]);
  FILE *to = fopen(words[2], "we");
  if (!to)
    fail("cannot make the file");
  put_header(to, &from, count);
  for (uint64_t round = 0; round < count; round++)
    put_sections(to, &from, true, round);
  put_sections(to, &from, false, 0);
  if (fclose(to))
    fail("cannot write");
  return 0;
}
