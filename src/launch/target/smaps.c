/* smaps.c - divides the resident memory of a process by the purpose of its mappings */
#include "launch/target/smaps.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

/* The purpose of a mapping, as far as its line shows it. */
enum use { USE_OTHER, USE_RECORDER, USE_STACK, USE_FILE, USE_HEAP, USE_LARGE_BLOCK };

/* The kernel writes smaps page by page, and resumes at the address where the last mapping ended. A mapping that has
 * grown meanwhile (a heap does), or was merged with others (two heaps with a third in between), is then listed again as
 * a whole. The counts of the mappings that it covers are undone, so that each address counts once. This is the number
 * of mappings that can be undone: */
enum { TOLD_MAX = 16 };

/* A mapping that was counted, and the state before it. */
struct told {
  uint64_t end, guard_end, file_end;
  struct hw_rss_sample before;
};

struct walk {
  const struct hwi_trace_file *trace;
  const char *library;
  struct told told[TOLD_MAX]; /* ring; the latest is `told_last` modulo the size */
  size_t told_last, told_count;
  uint64_t guard_end; /* end of a guard page directly before; 0: none */
  uint64_t file_end;  /* end of a file mapping directly before, whose zeroed data may follow; 0: none */
  enum use use;
  uint64_t bytes;          /* of address space */
  uint64_t resident_bytes; /* resident part */
};

/* glibc's arenas begin at multiples of this. Memory in them that is not resident is reserve, and not part of a
 * block. */
static bool is_arena(const struct hwi_mapping *mapping)
{
  const uint64_t arena_bytes = UINT64_C(64) << 20;
  return mapping->start % arena_bytes == 0;
}

static enum use use_of(const struct walk *walk, const struct hwi_mapping *mapping)
{
  bool is_anonymous = !mapping->inode && !*mapping->name;
  bool is_private_data = strncmp(mapping->rights, "rw-p", 4) == 0;
  if (hwi_mapping_is_of(mapping, walk->trace) || hwi_mapping_is_called(mapping, walk->library))
    return USE_RECORDER;
  if (strcmp(mapping->name, "[stack]") == 0)
    return USE_STACK;
  if (strcmp(mapping->name, "[heap]") == 0)
    return USE_HEAP;
  if (mapping->inode || (is_anonymous && mapping->start == walk->file_end))
    return USE_FILE;
  if (!is_anonymous || !is_private_data)
    return USE_OTHER;
  if (mapping->start == walk->guard_end) /* a thread's stack lies directly above its guard page */
    return USE_STACK;
  bool is_large = mapping->end - mapping->start >= HW_LARGE_BLOCK_BYTES && !is_arena(mapping);
  return is_large ? USE_LARGE_BLOCK : USE_HEAP;
}

/* Undoes the counts of mappings from `start` on. */
static void forget_from(struct walk *walk, uint64_t start, struct hw_rss_sample *sample)
{
  while (walk->told_count && walk->told[walk->told_last % TOLD_MAX].end > start) {
    const struct told *told = &walk->told[walk->told_last % TOLD_MAX];
    *sample = told->before;
    walk->guard_end = told->guard_end;
    walk->file_end = told->file_end;
    walk->told_last--;
    walk->told_count--;
  }
}

static void begin_mapping(struct walk *walk, const struct hwi_mapping *mapping, struct hw_rss_sample *sample)
{
  enum { GUARD_MAX_BYTES = 64 << 10 };
  forget_from(walk, mapping->start, sample);
  walk->told_count += walk->told_count < TOLD_MAX;
  walk->told[++walk->told_last % TOLD_MAX] = (struct told){mapping->end, walk->guard_end, walk->file_end, *sample};
  walk->bytes = mapping->end - mapping->start;
  walk->resident_bytes = 0;
  walk->use = use_of(walk, mapping);
  bool is_guard =
      !mapping->inode && !*mapping->name && strncmp(mapping->rights, "---p", 4) == 0 && walk->bytes <= GUARD_MAX_BYTES;
  walk->guard_end = is_guard ? mapping->end : 0;
  walk->file_end = mapping->inode ? mapping->end : 0;
}

static void count_resident(struct walk *walk, uint64_t bytes, struct hw_rss_sample *sample)
{
  walk->resident_bytes = bytes;
  sample->mapped += bytes;
  switch (walk->use) {
  case USE_RECORDER:
    sample->recorder += bytes;
    break;
  case USE_STACK:
    sample->stacks += bytes;
    break;
  case USE_FILE:
    sample->files += bytes;
    break;
  case USE_LARGE_BLOCK:
    sample->large += bytes;
    sample->heap += bytes;
    break;
  case USE_HEAP:
    sample->heap += bytes;
    break;
  case USE_OTHER:
    break;
  }
}

/* The flags are the last line of a mapping. libc reserves swap for a block (no "nr"); the recorder never does for its
 * memory. */
static void end_mapping(const struct walk *walk, const char *flags, struct hw_rss_sample *sample)
{
  if (walk->use == USE_LARGE_BLOCK && walk->bytes > walk->resident_bytes && !strstr(flags, " nr"))
    sample->untouched += walk->bytes - walk->resident_bytes;
}

void hwi_smaps_read(FILE *file, const struct hwi_trace_file *trace, const char *library, struct hw_rss_sample *sample)
{
  char line[HWI_MAPPING_LINE_BYTES];
  struct hwi_mapping mapping = {0};
  struct walk walk = {.trace = trace, .library = library};
  sample->recorder = sample->stacks = sample->mapped = sample->heap = sample->files = sample->untouched = 0;
  sample->large = 0;
  while (fgets(line, sizeof line, file)) {
    uint64_t kilobytes;
    if (sscanf(line, "Rss: %" SCNu64, &kilobytes) == 1)
      count_resident(&walk, kilobytes * 1024, sample);
    else if (strncmp(line, "VmFlags:", strlen("VmFlags:")) == 0)
      end_mapping(&walk, line, sample);
    else if (strchr(line, '-') && hwi_mapping_parse(line, &mapping))
      begin_mapping(&walk, &mapping, sample);
  }
}
