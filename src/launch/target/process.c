/* process.c - information on other processes from /proc */
#include "launch/target/process.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base_name.h"
#include "launch/target/smaps.h"

enum { PATH_BYTES = 96, TASK_PATH_BYTES = 32 };

uint64_t hwi_process_stack_start(uint32_t pid)
{
  char text[HWI_PROC_STAT_BYTES];
  const char *name_end = hwi_proc_read_stat(hwi_proc_open(pid, "stat"), text);
  return name_end ? strtoull(hwi_proc_stat_field(name_end, HWI_STAT_STACK), NULL, 10) : 0;
}

bool hwi_process_thread(uint32_t pid, uint32_t tid, struct hw_thread_state *state)
{
  char file[TASK_PATH_BYTES], text[HWI_PROC_STAT_BYTES];
  snprintf(file, sizeof file, "task/%u/stat", tid);
  char *name_end = hwi_proc_read_stat(hwi_proc_open(pid, file), text), *name = name_end ? strchr(text, '(') : NULL;
  if (!name)
    return false;
  size_t bytes = (size_t)(name_end - name) - 1;
  *state = (struct hw_thread_state){0};
  memcpy(state->name, name + 1, bytes < sizeof state->name - 1 ? bytes : sizeof state->name - 1);
  state->priority = (uint8_t)strtoul(hwi_proc_stat_field(name_end, HWI_STAT_RT_PRIORITY), NULL, 10);
  state->policy = (uint8_t)strtoul(hwi_proc_stat_field(name_end, HWI_STAT_POLICY), NULL, 10);
  return true;
}

/* --- mappings --- */

/* If a file was removed, the mapping's name has a suffix. */
static bool is_trace(const struct hwi_mapping *mapping, const char *trace)
{
  const char *name = hwi_base_name(mapping->name);
  return strncmp(mapping->rights, "rw-s", 4) == 0 && strchr(mapping->name, '/') &&
         (strncmp(name, trace, strlen(trace)) == 0 || strstr(name, ".hwt"));
}

bool hwi_process_parts(uint32_t pid, const char *library, const char *trace, struct hwi_process_parts *parts)
{
  char line[HWI_MAPPING_LINE_BYTES];
  struct hwi_mapping mapping;
  *parts = (struct hwi_process_parts){0};
  FILE *file = hwi_proc_open_maps(pid);
  if (!file)
    return false;
  while (fgets(line, sizeof line, file)) {
    if (!hwi_mapping_parse(line, &mapping))
      continue;
    parts->has_library |= hwi_mapping_is_called(&mapping, library);
    parts->has_trace |= is_trace(&mapping, trace);
    parts->has_heap |= strcmp(mapping.name, "[heap]") == 0;
  }
  fclose(file);
  return true;
}

bool hwi_process_preloads(uint32_t pid, const char *library)
{
  static const char name[] = "LD_PRELOAD=";
  char *variable = NULL;
  size_t room = 0;
  bool does = false;
  FILE *file = hwi_proc_open(pid, "environ");
  while (file && !does && getdelim(&variable, &room, 0, file) > 0)
    does = strncmp(variable, name, sizeof name - 1) == 0 && strstr(variable, library);
  free(variable);
  if (file)
    fclose(file);
  return does;
}

bool hwi_process_each_file(uint32_t pid, bool (*each)(void *context, const char *path), void *context)
{
  char line[HWI_MAPPING_LINE_BYTES];
  struct hwi_mapping mapping;
  FILE *file = hwi_proc_open_maps(pid);
  if (!file)
    return false;
  bool is_done = false;
  while (!is_done && fgets(line, sizeof line, file))
    is_done = hwi_mapping_parse(line, &mapping) && strncmp(mapping.rights, "rw-s", 4) == 0 && *mapping.name == '/' &&
              each(context, mapping.name);
  fclose(file);
  return true;
}

void hwi_process_each_library(uint32_t pid, bool (*each)(void *context, uint64_t start, const char *path),
                              void *context)
{
  char line[HWI_MAPPING_LINE_BYTES], path[HWI_MAPPING_LINE_BYTES] = "";
  struct hwi_mapping mapping;
  uint64_t start = 0;
  FILE *file = hwi_proc_open_maps(pid);
  if (!file)
    return;
  bool is_done = false, is_told = false;
  while (!is_done && fgets(line, sizeof line, file)) {
    if (!hwi_mapping_parse(line, &mapping))
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
  char line[HWI_MAPPING_LINE_BYTES];
  FILE *file = hwi_proc_open(pid, "status");
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

bool hwi_process_mapped(uint32_t pid, const struct hwi_trace_file *trace, const char *library,
                        struct hw_rss_sample *sample)
{
  FILE *file = hwi_proc_open(pid, "smaps");
  if (!file)
    return false;
  hwi_smaps_read(file, trace, library, sample);
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
