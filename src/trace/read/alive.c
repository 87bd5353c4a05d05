/* alive.c - whether a trace is still being written: its process runs, and has the file mapped */
#include "trace/read/alive.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/os.h"
#include "trace/read/proc.h"

/* Returns the file that is open at `fd`; `name` gets its path. */
static struct hwi_trace_file file_of(int fd, char name[PATH_MAX])
{
  char link[32];
  struct stat about = {0};
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t bytes = readlink(link, name, PATH_MAX - 1);
  name[bytes > 0 ? bytes : 0] = 0;
  (void)!fstat(fd, &about);
  return (struct hwi_trace_file){name, about.st_ino};
}

/* Returns whether the process has the trace mapped, or `if_hidden` if its mappings cannot be read. */
static bool is_mapped(uint32_t pid, const struct hwi_trace_file *trace, bool if_hidden)
{
  char line[HWI_MAPPING_LINE_BYTES];
  struct hwi_mapping mapping;
  FILE *file = hwi_proc_open_maps(pid);
  if (!file)
    return if_hidden;
  bool found = false;
  while (!found && fgets(line, sizeof line, file))
    found = hwi_mapping_parse(line, &mapping) && hwi_mapping_is_of(&mapping, trace);
  fclose(file);
  return found;
}

/* A program that could not read /proc wrote neither its start nor its namespace: then the process is the one that has
 * the trace mapped. If only the namespace is unknown, the pid and the start decide. */
static bool is_process_of(uint32_t pid, const struct hw_trace_header *header, const struct hwi_trace_file *trace)
{
  bool is_over;
  uint64_t start = hwi_process_start(pid, &is_over);
  if (is_over || (header->process_start && start != header->process_start) || hwi_process_inner_pid(pid) != header->pid)
    return false;
  if (!header->process_start)
    return is_mapped(pid, trace, false);
  uint32_t namespace = hwi_os_pid_namespace(pid);
  return !namespace || namespace == header->pid_namespace;
}

/* Returns whether the process has the same pid in the caller's namespace. */
static bool is_of_here(const struct hw_trace_header *header)
{
  return header->process_start && (!header->pid_namespace || header->pid_namespace == hwi_os_pid_namespace(0));
}

uint32_t hwi_trace_process(int fd, const struct hw_trace_header *header)
{
  if (is_of_here(header) || !header->pid)
    return header->pid;
  char name[PATH_MAX];
  struct hwi_trace_file trace = file_of(fd, name);
  uint32_t found = 0;
  DIR *processes = opendir("/proc");
  for (struct dirent *entry = processes ? readdir(processes) : NULL; entry && !found; entry = readdir(processes)) {
    uint32_t pid = (uint32_t)strtoul(entry->d_name, NULL, 10);
    found = pid && is_process_of(pid, header, &trace) ? pid : 0;
  }
  if (processes)
    closedir(processes);
  return found;
}

bool hwi_trace_is_written_by(uint32_t pid, int fd, const struct hw_trace_header *header)
{
  bool is_over;
  uint64_t start = pid ? hwi_process_start(pid, &is_over) : 0;
  if (!start || is_over || (header->process_start && start != header->process_start))
    return false;
  char name[PATH_MAX];
  struct hwi_trace_file trace = file_of(fd, name);
  return is_mapped(pid, &trace, true);
}

/* In the first pid namespace all processes are visible. In another one only those of the same namespace and of those
 * below are visible, and a trace does not state whether its namespace is below. */
static bool are_all_seen(void)
{
  static const uint32_t FIRST_NAMESPACE = 0xEFFFFFFC; /* as the kernel has always numbered it */
  return hwi_os_pid_namespace(0) == FIRST_NAMESPACE;
}

uint32_t hwi_trace_writer(int fd, const struct hw_trace_header *header)
{
  if (header->kind != HW_TRACE_RAW)
    return 0;
  uint32_t pid = hwi_trace_process(fd, header);
  if (!pid && header->pid && header->state != HW_STATE_EXITED && !are_all_seen())
    return HWI_WRITER_UNSEEN;
  return hwi_trace_is_written_by(pid, fd, header) ? pid : 0;
}

bool hwi_trace_is_being_written(int fd, const struct hw_trace_header *header)
{
  uint32_t writer = hwi_trace_writer(fd, header);
  return writer && writer != HWI_WRITER_UNSEEN;
}
