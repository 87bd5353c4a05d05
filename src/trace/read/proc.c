/* proc.c - reads /proc of a process: its stat file and its mappings */
#include "trace/read/proc.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/base_name.h"

enum { PATH_BYTES = 96 };

FILE *hwi_proc_open(uint32_t pid, const char *name)
{
  char path[PATH_BYTES];
  snprintf(path, sizeof path, "/proc/%u/%s", pid, name);
  return fopen(path, "re");
}

char *hwi_proc_read_stat(FILE *file, char text[HWI_PROC_STAT_BYTES])
{
  if (!file)
    return NULL;
  size_t got = fread(text, 1, HWI_PROC_STAT_BYTES - 1, file);
  fclose(file);
  text[got] = 0;
  return strrchr(text, ')'); /* the name may contain blanks and brackets */
}

const char *hwi_proc_stat_field(const char *name_end, enum hwi_stat_field field)
{
  const char *at = name_end;
  for (int i = HWI_STAT_NAME; at && i < (int)field; i++)
    at = strchr(at + 1, ' ');
  return at ? at + 1 : "";
}

uint64_t hwi_process_start(uint32_t pid, bool *is_over)
{
  char text[HWI_PROC_STAT_BYTES];
  const char *name_end = hwi_proc_read_stat(hwi_proc_open(pid, "stat"), text);
  *is_over = true;
  if (!name_end)
    return 0;
  char state = *hwi_proc_stat_field(name_end, HWI_STAT_STATE);
  uint64_t threads = strtoull(hwi_proc_stat_field(name_end, HWI_STAT_THREADS), NULL, 10);
  *is_over = state == 'X' || (state == 'Z' && threads <= 1); /* the main thread may end before others */
  return strtoull(hwi_proc_stat_field(name_end, HWI_STAT_START), NULL, 10);
}

uint32_t hwi_process_inner_pid(uint32_t pid)
{
  static const char field[] = "NSpid:"; /* numbers from the outermost namespace to its own */
  char line[HWI_PROC_STAT_BYTES];
  unsigned long inner = 0;
  FILE *file = hwi_proc_open(pid, "status");
  while (file && inner == 0 && fgets(line, sizeof line, file)) {
    const char *last = strncmp(line, field, sizeof field - 1) == 0 ? strrchr(line, '\t') : NULL;
    inner = last ? strtoul(last, NULL, 10) : 0;
  }
  if (file)
    fclose(file);
  return (uint32_t)inner;
}

/* --- mappings --- */

bool hwi_mapping_parse(char *line, struct hwi_mapping *mapping)
{
  int name_at = 0;
  if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*s %*x:%*x %" SCNu64 " %n", &mapping->start, &mapping->end,
             mapping->rights, &mapping->inode, &name_at) < 4)
    return false;
  line[strcspn(line, "\n")] = 0;
  mapping->name = name_at ? line + name_at : "";
  return true;
}

/* A mapping without a file never matches, even if `name` is "" because the trace's name is unknown. */
bool hwi_mapping_is_called(const struct hwi_mapping *mapping, const char *name)
{
  return strchr(mapping->name, '/') && strcmp(hwi_base_name(mapping->name), name) == 0;
}

/* On stacked file systems, the device and inode numbers in maps differ from those of stat: then the name decides. */
bool hwi_mapping_is_of(const struct hwi_mapping *mapping, const struct hwi_trace_file *trace)
{
  return (mapping->inode && mapping->inode == trace->inode) ||
         hwi_mapping_is_called(mapping, hwi_base_name(trace->path));
}

FILE *hwi_proc_open_maps(uint32_t pid)
{
  bool is_over;
  char path[PATH_BYTES], text[HWI_PROC_STAT_BYTES];
  const char *name_end = hwi_proc_read_stat(hwi_proc_open(pid, "stat"), text);
  if (!name_end || *hwi_proc_stat_field(name_end, HWI_STAT_STATE) != 'Z' || !hwi_process_start(pid, &is_over) ||
      is_over)
    return hwi_proc_open(pid, "maps");
  snprintf(path, sizeof path, "/proc/%u/task", pid);
  DIR *tasks = opendir(path);
  FILE *file = NULL;
  for (struct dirent *task = tasks ? readdir(tasks) : NULL; task && !file; task = readdir(tasks)) {
    uint32_t tid = (uint32_t)strtoul(task->d_name, NULL, 10);
    if (!tid || tid == pid)
      continue;
    snprintf(path, sizeof path, "/proc/%u/task/%u/maps", pid, tid);
    file = fopen(path, "re");
  }
  if (tasks)
    closedir(tasks);
  return file;
}
