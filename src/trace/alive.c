/* alive.c - whether a trace is still being written: its process runs, and has the file mapped */
#include "trace/alive.h"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/proc.h"

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
  bool is_over;
  struct stat about;
  if (header->kind != HW_TRACE_RAW || !header->pid || fstat(fd, &about) < 0 ||
      hwi_process_start(header->pid, &is_over) != header->process_start || is_over)
    return false;
  char name[PATH_MAX];
  name_of(fd, name);
  return !is_unmapped(header->pid, &(struct hwi_trace_file){name, about.st_ino});
}
