/* unseen_processes.c - counts processes that run without being recorded */
#include "launch/follow/unseen_processes.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/base_name.h"
#include "launch/target/preload.h"
#include "launch/target/program.h"
#include "platform/os_tools.h"
#include "symbols/program_allocator.h"
#include "trace/grow.h"

enum { CHILDREN_MAX = 256, DESCENDANTS_MAX = 1024 };

struct hwi_unseen_process {
  uint32_t pid;
  uint64_t start;
  uint32_t last_look; /* the last look at which it existed */
  bool was_without;   /* it had no recorder then */
  bool is_counted;
};

static struct hwi_unseen_process *find(struct hwi_unseen *unseen, uint32_t pid, uint64_t start)
{
  for (size_t i = 0; i < unseen->count; i++)
    if (unseen->known[i].pid == pid && unseen->known[i].start == start)
      return &unseen->known[i];
  return NULL;
}

/* What a process has mapped. */
struct parts {
  const char *trace;
  bool has_library;
  bool has_trace; /* one of the run whose first trace is `trace`, or of an earlier image, shared for writing */
  bool has_heap;  /* libc's heap, so malloc was called */
};

/* If a file was removed, the mapping's name has a suffix. */
static bool is_trace(const struct hwi_os_mapping *mapping, const char *trace)
{
  const char *name = hwi_base_name(mapping->name);
  return mapping->access == (HWI_OS_READ | HWI_OS_WRITE | HWI_OS_SHARED) && strchr(mapping->name, '/') &&
         (strncmp(name, trace, strlen(trace)) == 0 || strstr(name, ".hwt"));
}

static bool take_part(void *context, const struct hwi_os_mapping *mapping)
{
  struct parts *parts = context;
  parts->has_library |= hwi_os_mapping_is_called(mapping, HWI_RECORDER_NAME);
  parts->has_trace |= is_trace(mapping, parts->trace);
  parts->has_heap |= mapping->is_brk_heap;
  return false;
}

/* Returns true if the loader has mapped the recorder into the process, or will do so. */
static bool will_have_recorder(uint32_t pid)
{
  char path[HWI_OS_LINK_PATH_BYTES];
  hwi_os_process_executable(path, pid);
  return hwi_os_process_preloads(pid, HWI_RECORDER_NAME) && hwi_program_obstacle(path) == HWI_OBSTACLE_NONE;
}

/* Returns true if the recorder is linked into the process's program, and the process is asked for a recording. */
static bool has_linked_recorder(uint32_t pid)
{
  char path[HWI_OS_LINK_PATH_BYTES];
  hwi_os_process_executable(path, pid);
  return hwi_os_process_preloads(pid, HWI_RECORDER_NAME) && hwi_has_linked_recorder(path);
}

static bool is_unrecorded(const struct hwi_unseen_run *run, uint32_t pid)
{
  struct parts parts = {.trace = run->trace ? run->trace : ""};
  if (!hwi_os_each_mapping(pid, take_part, &parts))
    return false;
  if (!parts.has_library &&
      !has_linked_recorder(pid)) /* a process that has allocated will not load the recorder any more */
    return parts.has_heap || !will_have_recorder(pid);
  return run->trace && parts.has_heap && !parts.has_trace;
}

static void count_it(struct hwi_unseen *unseen, uint32_t pid)
{
  if (hwi_grow((void **)&unseen->pids, &unseen->pid_capacity, unseen->unseen + (size_t)1, sizeof *unseen->pids))
    unseen->pids[unseen->unseen++] = pid;
}

static void judge(struct hwi_unseen *unseen, const struct hwi_unseen_run *run, uint32_t pid)
{
  uint64_t start = hwi_os_running_process_start(pid);
  if (!start)
    return;
  struct hwi_unseen_process *known = find(unseen, pid, start);
  bool is_without = is_unrecorded(run, pid);
  if (known) {
    if (is_without && known->was_without && !known->is_counted) {
      known->is_counted = true;
      count_it(unseen, pid);
    }
    known->last_look = unseen->look;
    known->was_without = is_without;
  } else if (hwi_grow((void **)&unseen->known, &unseen->capacity, unseen->count + 1, sizeof *unseen->known)) {
    unseen->known[unseen->count++] =
        (struct hwi_unseen_process){.pid = pid, .start = start, .last_look = unseen->look, .was_without = is_without};
  }
}

static void forget_ended(struct hwi_unseen *unseen)
{
  size_t kept = 0;
  for (size_t i = 0; i < unseen->count; i++)
    if (unseen->known[i].last_look == unseen->look)
      unseen->known[kept++] = unseen->known[i];
  unseen->count = kept;
}

void hwi_unseen_look(struct hwi_unseen *unseen, const struct hwi_unseen_run *run)
{
  uint32_t queue[DESCENDANTS_MAX];
  size_t count = 1, at = 0;
  queue[0] = run->pid;
  unseen->look++;
  if (run->has_begun)
    judge(unseen, run, run->pid);
  while (at < count) {
    size_t room = DESCENDANTS_MAX - count;
    size_t found = hwi_os_process_children(queue[at++], queue + count, room < CHILDREN_MAX ? room : CHILDREN_MAX);
    for (size_t i = count; i < count + found; i++)
      judge(unseen, run, queue[i]);
    count += found;
  }
  forget_ended(unseen);
}

uint32_t hwi_unseen_count_except(const struct hwi_unseen *unseen, const uint32_t *pids, size_t count)
{
  uint32_t others = 0;
  for (uint32_t i = 0; i < unseen->unseen; i++) {
    bool is_there = false;
    for (size_t k = 0; k < count && !is_there; k++)
      is_there = pids[k] == unseen->pids[i];
    others += !is_there;
  }
  return others;
}

void hwi_unseen_release(struct hwi_unseen *unseen)
{
  free(unseen->pids);
  free(unseen->known);
  *unseen = (struct hwi_unseen){0};
}
