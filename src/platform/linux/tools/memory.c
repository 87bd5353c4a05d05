/* memory.c - the resident memory of a process on Linux, and its division by the purpose of its mappings */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "platform/linux/tools/proc.h"

bool hwi_os_process_resident(uint32_t pid, struct hwi_os_resident *resident)
{
  char line[HWI_PROC_LINE_BYTES];
  FILE *file = hwi_proc_open(pid, "status");
  if (!file)
    return false;
  *resident = (struct hwi_os_resident){0};
  struct {
    const char *name;
    uint64_t *to;
  } wanted[] = {{"VmHWM:", &resident->peak},   {"VmRSS:", &resident->all},       {"RssAnon:", &resident->anonymous},
                {"RssFile:", &resident->file}, {"RssShmem:", &resident->shared}, {"VmSwap:", &resident->swapped}};
  bool found = false;
  while (fgets(line, sizeof line, file)) {
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
      size_t bytes = strlen(wanted[i].name);
      if (strncmp(line, wanted[i].name, bytes) == 0) {
        *wanted[i].to = strtoull(line + bytes, NULL, 10) * 1024;
        found = true;
      }
    }
  }
  fclose(file);
  return found;
}

uint64_t hwi_os_memory_left(void)
{
  char line[HWI_PROC_LINE_BYTES];
  uint64_t kilobytes = 0;
  FILE *file = fopen("/proc/meminfo", "re");
  while (file && fgets(line, sizeof line, file) && sscanf(line, "MemAvailable: %" SCNu64, &kilobytes) != 1)
    ;
  if (file)
    fclose(file);
  return kilobytes ? kilobytes * 1024 : UINT64_MAX;
}

/* --- smaps --- */

/* The purpose of a mapping, as far as its line shows it. */
enum purpose { USE_OTHER, USE_RECORDER, USE_STACK, USE_FILE, USE_HEAP, USE_LARGE_BLOCK };

/* The kernel writes smaps page by page, and resumes at the address where the last mapping ended. A mapping that has
 * grown meanwhile (a heap does), or was merged with others (two heaps with a third in between), is then listed again as
 * a whole. The counts of the mappings that it covers are undone, so that each address counts once. This is the number
 * of mappings that can be undone: */
enum { COUNTED_MAX = 16 };

/* A mapping that was counted, and the state before it. */
struct counted {
  uint64_t end, guard_end, file_end;
  struct hwi_os_memory_use before;
};

struct walk {
  const struct hwi_os_file *trace;
  const char *library;
  struct counted counted[COUNTED_MAX]; /* ring; the latest is `last_counted` modulo the size */
  size_t last_counted, counted_count;
  uint64_t guard_end; /* end of a guard page directly before; 0: none */
  uint64_t file_end;  /* end of a file mapping directly before, whose zeroed data may follow; 0: none */
  enum purpose purpose;
  uint64_t bytes;          /* of address space */
  uint64_t resident_bytes; /* resident part */
};

/* glibc's arenas begin at multiples of this. Memory in them that is not resident is reserve, and not part of a
 * block. */
static bool is_arena(const struct hwi_os_mapping *mapping)
{
  const uint64_t arena_bytes = UINT64_C(64) << 20;
  return mapping->start % arena_bytes == 0;
}

static enum purpose purpose_of(const struct walk *walk, const struct hwi_os_mapping *mapping)
{
  bool is_anonymous = !mapping->inode && !*mapping->name;
  bool is_private_data = mapping->access == (HWI_OS_READ | HWI_OS_WRITE);
  if (hwi_os_mapping_is_of(mapping, walk->trace) || hwi_os_mapping_is_called(mapping, walk->library))
    return USE_RECORDER;
  if (strcmp(mapping->name, "[stack]") == 0)
    return USE_STACK;
  if (mapping->is_brk_heap)
    return USE_HEAP;
  if (mapping->inode || (is_anonymous && mapping->start == walk->file_end))
    return USE_FILE;
  if (!is_anonymous || !is_private_data)
    return USE_OTHER;
  if (mapping->start == walk->guard_end) /* a thread's stack lies directly above its guard page */
    return USE_STACK;
  bool is_large = mapping->end - mapping->start >= HWI_OS_LARGE_BLOCK_BYTES && !is_arena(mapping);
  return is_large ? USE_LARGE_BLOCK : USE_HEAP;
}

/* Undoes the counts of mappings from `start` on. */
static void forget_from(struct walk *walk, uint64_t start, struct hwi_os_memory_use *use)
{
  while (walk->counted_count && walk->counted[walk->last_counted % COUNTED_MAX].end > start) {
    const struct counted *counted = &walk->counted[walk->last_counted % COUNTED_MAX];
    *use = counted->before;
    walk->guard_end = counted->guard_end;
    walk->file_end = counted->file_end;
    walk->last_counted--;
    walk->counted_count--;
  }
}

static void begin_mapping(struct walk *walk, const struct hwi_os_mapping *mapping, struct hwi_os_memory_use *use)
{
  enum { GUARD_MAX_BYTES = 64 << 10 };
  forget_from(walk, mapping->start, use);
  walk->counted_count += walk->counted_count < COUNTED_MAX;
  walk->counted[++walk->last_counted % COUNTED_MAX] =
      (struct counted){mapping->end, walk->guard_end, walk->file_end, *use};
  walk->bytes = mapping->end - mapping->start;
  walk->resident_bytes = 0;
  walk->purpose = purpose_of(walk, mapping);
  bool is_guard = !mapping->inode && !*mapping->name && mapping->access == 0 && walk->bytes <= GUARD_MAX_BYTES;
  walk->guard_end = is_guard ? mapping->end : 0;
  walk->file_end = mapping->inode ? mapping->end : 0;
}

static void count_resident(struct walk *walk, uint64_t bytes, struct hwi_os_memory_use *use)
{
  walk->resident_bytes = bytes;
  use->mapped += bytes;
  switch (walk->purpose) {
  case USE_RECORDER:
    use->recorder += bytes;
    break;
  case USE_STACK:
    use->stacks += bytes;
    break;
  case USE_FILE:
    use->files += bytes;
    break;
  case USE_LARGE_BLOCK:
    use->large += bytes;
    use->heap += bytes;
    break;
  case USE_HEAP:
    use->heap += bytes;
    break;
  case USE_OTHER:
    break;
  }
}

/* The flags are the last line of a mapping. libc reserves swap for a block (no "nr"); the recorder never does for its
 * memory. */
static void end_mapping(const struct walk *walk, const char *flags, struct hwi_os_memory_use *use)
{
  if (walk->purpose == USE_LARGE_BLOCK && walk->bytes > walk->resident_bytes && !strstr(flags, " nr"))
    use->untouched += walk->bytes - walk->resident_bytes;
}

void hwi_proc_read_smaps(FILE *file, const struct hwi_os_file *trace, const char *library,
                         struct hwi_os_memory_use *use)
{
  char line[HWI_PROC_LINE_BYTES];
  struct hwi_os_mapping mapping = {0};
  struct walk walk = {.trace = trace, .library = library};
  *use = (struct hwi_os_memory_use){0};
  while (fgets(line, sizeof line, file)) {
    uint64_t kilobytes;
    if (sscanf(line, "Rss: %" SCNu64, &kilobytes) == 1)
      count_resident(&walk, kilobytes * 1024, use);
    else if (strncmp(line, "VmFlags:", strlen("VmFlags:")) == 0)
      end_mapping(&walk, line, use);
    else if (strchr(line, '-') && hwi_proc_parse_mapping(line, &mapping))
      begin_mapping(&walk, &mapping, use);
  }
}

bool hwi_os_process_memory_use(uint32_t pid, const struct hwi_os_file *trace, const char *library,
                               struct hwi_os_memory_use *use)
{
  FILE *file = hwi_proc_open(pid, "smaps");
  if (!file)
    return false;
  hwi_proc_read_smaps(file, trace, library, use);
  fclose(file);
  return use->mapped > 0;
}
