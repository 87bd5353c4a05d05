/* alive.c - whether a trace is still being written: its process runs, and has the file mapped */
#include "trace/alive.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/os.h"
#include "trace/proc.h"

/* Whose namespace cannot be told may be it: the number and the start decide. */
static bool is_process_of(uint32_t pid, const struct hw_trace_header *header)
{
  bool is_over;
  if (hwi_process_start(pid, &is_over) != header->process_start || is_over || hwi_process_inner_pid(pid) != header->pid)
    return false;
  uint32_t namespace = hwi_os_pid_namespace(pid);
  return !namespace || namespace == header->pid_namespace;
}

uint32_t hwi_trace_process(const struct hw_trace_header *header)
{
  if (!header->pid_namespace || header->pid_namespace == hwi_os_pid_namespace(0))
    return header->pid;
  uint32_t found = 0;
  DIR *processes = opendir("/proc");
  for (struct dirent *entry = processes ? readdir(processes) : NULL; entry && !found; entry = readdir(processes)) {
    uint32_t pid = (uint32_t)strtoul(entry->d_name, NULL, 10);
    found = pid && is_process_of(pid, header) ? pid : 0;
  }
  if (processes)
    closedir(processes);
  return found;
}

/* False where nobody can tell that it is not. */
static bool is_unmapped(uint32_t pid, const struct hwi_trace_file *trace)
{
  char line[HWI_MAPPING_LINE_BYTES];
  struct hwi_mapping mapping;
  FILE *file = hwi_proc_open_maps(pid);
  if (!file)
    return false;
  bool found = false;
  while (!found && fgets(line, sizeof line, file))
    found = hwi_mapping_parse(line, &mapping) && hwi_mapping_is_of(&mapping, trace);
  fclose(file);
  return !found;
}

/* What the open file is called. */
static void name_of(int fd, char name[PATH_MAX])
{
  char link[32];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t bytes = readlink(link, name, PATH_MAX - 1);
  name[bytes > 0 ? bytes : 0] = 0;
}

bool hwi_trace_is_being_written(int fd, const struct hw_trace_header *header)
{
  return header->kind == HW_TRACE_RAW && hwi_trace_is_written_by(hwi_trace_process(header), fd, header);
}

bool hwi_trace_is_written_by(uint32_t pid, int fd, const struct hw_trace_header *header)
{
  bool is_over;
  struct stat about;
  if (!pid || fstat(fd, &about) < 0 || hwi_process_start(pid, &is_over) != header->process_start || is_over)
    return false;
  char name[PATH_MAX];
  name_of(fd, name);
  return !is_unmapped(pid, &(struct hwi_trace_file){name, about.st_ino});
}
