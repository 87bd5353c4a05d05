/* process.c - what /proc says about other processes */
#include "launch/process.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 96, TASK_PATH_BYTES = 32, LINE_BYTES = 8192, STAT_BYTES = 2048 };
enum { /* fields of /proc/PID/stat, counted from 1 */
       STAT_NAME = 2,
       STAT_STATE = 3,
       STAT_THREADS = 20,
       STAT_START = 22,
       STAT_RT_PRIORITY = 40,
       STAT_POLICY = 41,
};

static FILE *open_proc(uint32_t pid, const char *name)
{
  char path[PATH_BYTES];
  snprintf(path, sizeof path, "/proc/%u/%s", pid, name);
  return fopen(path, "re");
}

/* Reads a stat file into `text`. Where the name ends, or NULL. */
static char *read_stat(FILE *file, char text[STAT_BYTES])
{
  if (!file)
    return NULL;
  size_t got = fread(text, 1, STAT_BYTES - 1, file);
  fclose(file);
  text[got] = 0;
  return strrchr(text, ')'); /* the name may hold blanks and brackets */
}

/* The field of that number, of those behind the name. */
static const char *stat_field(const char *name_end, int field)
{
  const char *at = name_end;
  for (int i = STAT_NAME; at && i < field; i++)
    at = strchr(at + 1, ' ');
  return at ? at + 1 : "";
}

uint64_t hwi_process_start(uint32_t pid, bool *is_over)
{
  char text[STAT_BYTES];
  const char *name_end = read_stat(open_proc(pid, "stat"), text);
  *is_over = true;
  if (!name_end)
    return 0;
  char state = *stat_field(name_end, STAT_STATE);
  uint64_t threads = strtoull(stat_field(name_end, STAT_THREADS), NULL, 10);
  *is_over = state == 'X' || (state == 'Z' && threads <= 1); /* the main thread may end before others */
  return strtoull(stat_field(name_end, STAT_START), NULL, 10);
}

bool hwi_process_thread(uint32_t pid, uint32_t tid, struct hw_thread_state *state)
{
  char file[TASK_PATH_BYTES], text[STAT_BYTES];
  snprintf(file, sizeof file, "task/%u/stat", tid);
  char *name_end = read_stat(open_proc(pid, file), text), *name = name_end ? strchr(text, '(') : NULL;
  if (!name)
    return false;
  size_t bytes = (size_t)(name_end - name) - 1;
  *state = (struct hw_thread_state){0};
  memcpy(state->name, name + 1, bytes < sizeof state->name - 1 ? bytes : sizeof state->name - 1);
  state->priority = (uint8_t)strtoul(stat_field(name_end, STAT_RT_PRIORITY), NULL, 10);
  state->policy = (uint8_t)strtoul(stat_field(name_end, STAT_POLICY), NULL, 10);
  return true;
}

/* --- mappings --- */

struct mapping {
  uint64_t start, end, inode;
  unsigned major_number, minor_number;
  char rights[8];
  const char *name; /* in the line, without the newline */
};

static bool parse_mapping(char *line, struct mapping *mapping)
{
  int name_at = 0;
  if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*s %x:%x %" SCNu64 " %n", &mapping->start, &mapping->end,
             mapping->rights, &mapping->major_number, &mapping->minor_number, &mapping->inode, &name_at) < 6)
    return false;
  line[strcspn(line, "\n")] = 0;
  mapping->name = name_at ? line + name_at : "";
  return true;
}

/* Stacked file systems show other device and inode numbers in maps than stat has: the name then decides. */
static bool is_of(const struct mapping *mapping, const struct hwi_trace_file *trace)
{
  const char *slash = strrchr(trace->path, '/');
  const char *name = slash ? slash + 1 : trace->path, *mapped = strrchr(mapping->name, '/');
  return (mapping->inode && mapping->inode == trace->inode) || (mapped && strcmp(mapped + 1, name) == 0);
}

static bool is_called(const struct mapping *mapping, const char *library)
{
  const char *slash = strrchr(mapping->name, '/');
  return slash && strcmp(slash + 1, library) == 0;
}

/* The maps of any thread that is left: those of an ended main thread are empty. */
static FILE *open_maps(uint32_t pid, const char *name)
{
  bool is_over;
  char path[PATH_BYTES], text[STAT_BYTES];
  const char *name_end = read_stat(open_proc(pid, "stat"), text);
  if (!name_end || *stat_field(name_end, STAT_STATE) != 'Z' || !hwi_process_start(pid, &is_over) || is_over)
    return open_proc(pid, name);
  snprintf(path, sizeof path, "/proc/%u/task", pid);
  DIR *tasks = opendir(path);
  FILE *file = NULL;
  for (struct dirent *task = tasks ? readdir(tasks) : NULL; task && !file; task = readdir(tasks)) {
    uint32_t tid = (uint32_t)strtoul(task->d_name, NULL, 10);
    if (!tid || tid == pid)
      continue;
    snprintf(path, sizeof path, "/proc/%u/task/%u/%s", pid, tid, name);
    file = fopen(path, "re");
  }
  if (tasks)
    closedir(tasks);
  return file;
}

/* 1: a mapping for which `library` (or `trace`) is right, 0: none, -1: nobody can tell. */
static int find_mapping(uint32_t pid, const struct hwi_trace_file *trace, const char *library)
{
  char line[LINE_BYTES];
  struct mapping mapping;
  FILE *file = open_maps(pid, "maps");
  if (!file)
    return -1;
  int found = 0;
  while (!found && fgets(line, sizeof line, file))
    found = parse_mapping(line, &mapping) && (trace ? is_of(&mapping, trace) : is_called(&mapping, library));
  fclose(file);
  return found;
}

bool hwi_process_is_writing(const struct hw_trace_header *header, const struct hwi_trace_file *trace)
{
  bool is_over;
  return header->kind == HW_TRACE_RAW && header->pid &&
         hwi_process_start(header->pid, &is_over) == header->process_start && !is_over &&
         find_mapping(header->pid, trace, NULL) != 0;
}

int hwi_process_maps_library(uint32_t pid, const char *library)
{
  return find_mapping(pid, NULL, library);
}

bool hwi_process_preloads(uint32_t pid, const char *library)
{
  static const char name[] = "LD_PRELOAD=";
  char *variable = NULL;
  size_t room = 0;
  bool does = false;
  FILE *file = open_proc(pid, "environ");
  while (file && !does && getdelim(&variable, &room, 0, file) > 0)
    does = strncmp(variable, name, sizeof name - 1) == 0 && strstr(variable, library);
  free(variable);
  if (file)
    fclose(file);
  return does;
}

bool hwi_process_each_file(uint32_t pid, bool (*each)(void *context, const char *path), void *context)
{
  char line[LINE_BYTES];
  struct mapping mapping;
  FILE *file = open_maps(pid, "maps");
  if (!file)
    return false;
  bool is_done = false;
  while (!is_done && fgets(line, sizeof line, file))
    is_done = parse_mapping(line, &mapping) && strncmp(mapping.rights, "rw-s", 4) == 0 && *mapping.name == '/' &&
              each(context, mapping.name);
  fclose(file);
  return true;
}

void hwi_process_each_library(uint32_t pid, bool (*each)(void *context, uint64_t start, const char *path),
                              void *context)
{
  char line[LINE_BYTES], path[LINE_BYTES] = "";
  struct mapping mapping;
  uint64_t start = 0;
  FILE *file = open_maps(pid, "maps");
  if (!file)
    return;
  bool is_done = false, is_told = false;
  while (!is_done && fgets(line, sizeof line, file)) {
    if (!parse_mapping(line, &mapping))
      continue;
    if (strcmp(mapping.name, path) != 0) { /* another file begins */
      memcpy(path, mapping.name, strlen(mapping.name) + 1);
      start = mapping.start;
      is_told = false;
    }
    if (is_told || *path != '/' || mapping.rights[2] != 'x')
      continue;
    is_told = true;
    is_done = each(context, start, path);
  }
  fclose(file);
}

/* --- memory --- */

bool hwi_process_memory(uint32_t pid, struct hw_rss_sample *sample, uint64_t *peak_bytes)
{
  char line[LINE_BYTES];
  FILE *file = open_proc(pid, "status");
  if (!file)
    return false;
  struct {
    const char *name;
    uint64_t *to;
  } wanted[] = {{"VmHWM:", peak_bytes},      {"VmRSS:", &sample->rss},      {"RssAnon:", &sample->anonymous},
                {"RssFile:", &sample->file}, {"RssShmem:", &sample->shmem}, {"VmSwap:", &sample->swap}};
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

/* What a mapping is there for, as far as its line tells. */
enum use { USE_OTHER, USE_RECORDER, USE_STACK, USE_FILE, USE_HEAP, USE_LARGE_BLOCK };

struct walk {
  const struct hwi_trace_file *trace;
  const char *library;
  uint64_t guard_end; /* of the page that guards what comes next; 0: it was none */
  uint64_t file_end;  /* of the file mapped before, whose zeroed data may follow; 0: there is none */
  enum use use;
  uint64_t bytes; /* of address space */
};

/* glibc's arenas begin at multiples of this; what is not resident there is room, not somebody's block. */
static bool is_arena(const struct mapping *mapping)
{
  const uint64_t arena_bytes = UINT64_C(64) << 20;
  return mapping->start % arena_bytes == 0;
}

static enum use use_of(const struct walk *walk, const struct mapping *mapping)
{
  bool is_anonymous = !mapping->inode && !*mapping->name;
  bool is_private_data = strncmp(mapping->rights, "rw-p", 4) == 0;
  if (is_of(mapping, walk->trace) || is_called(mapping, walk->library))
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
  return is_arena(mapping) ? USE_HEAP : USE_LARGE_BLOCK;
}

static void begin_mapping(struct walk *walk, const struct mapping *mapping)
{
  enum { GUARD_MAX_BYTES = 64 << 10 };
  walk->use = use_of(walk, mapping);
  walk->bytes = mapping->end - mapping->start;
  bool is_guard =
      !mapping->inode && !*mapping->name && strncmp(mapping->rights, "---p", 4) == 0 && walk->bytes <= GUARD_MAX_BYTES;
  walk->guard_end = is_guard ? mapping->end : 0;
  walk->file_end = mapping->inode ? mapping->end : 0;
}

static void count_resident(const struct walk *walk, uint64_t bytes, struct hw_rss_sample *sample)
{
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
    sample->untouched += walk->bytes > bytes ? walk->bytes - bytes : 0;
    sample->heap += bytes;
    break;
  case USE_HEAP:
    sample->heap += bytes;
    break;
  case USE_OTHER:
    break;
  }
}

bool hwi_process_mapped(uint32_t pid, const struct hwi_trace_file *trace, const char *library,
                        struct hw_rss_sample *sample)
{
  char line[LINE_BYTES];
  struct mapping mapping = {0};
  struct walk walk = {.trace = trace, .library = library};
  FILE *file = open_proc(pid, "smaps");
  if (!file)
    return false;
  sample->recorder = sample->stacks = sample->mapped = sample->heap = sample->files = sample->untouched = 0;
  while (fgets(line, sizeof line, file)) {
    uint64_t kilobytes;
    if (sscanf(line, "Rss: %" SCNu64, &kilobytes) == 1)
      count_resident(&walk, kilobytes * 1024, sample);
    else if (strchr(line, '-') && parse_mapping(line, &mapping))
      begin_mapping(&walk, &mapping);
  }
  fclose(file);
  return sample->mapped > 0;
}

/* --- children --- */

size_t hwi_process_children(uint32_t pid, uint32_t *children, size_t max)
{
  char path[PATH_BYTES];
  size_t count = 0;
  snprintf(path, sizeof path, "/proc/%u/task", pid);
  DIR *tasks = opendir(path);
  if (!tasks)
    return 0;
  for (struct dirent *task = readdir(tasks); task && count < max; task = readdir(tasks)) {
    char *end;
    unsigned long tid = strtoul(task->d_name, &end, 10);
    if (!tid || *end)
      continue;
    snprintf(path, sizeof path, "/proc/%u/task/%lu/children", pid, tid);
    FILE *file = fopen(path, "re");
    while (file && count < max && fscanf(file, "%" SCNu32, &children[count]) == 1)
      count++;
    if (file)
      fclose(file);
  }
  closedir(tasks);
  return count;
}
