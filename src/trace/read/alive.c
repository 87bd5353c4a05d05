/* alive.c - whether a trace is still being written: its process runs, and has the file mapped */
#include "trace/read/alive.h"

#include "platform/os_tools.h"

struct search {
  const struct hwi_os_file *trace;
  bool found;
};

static bool is_of_trace(void *context, const struct hwi_os_mapping *mapping)
{
  struct search *search = context;
  search->found = hwi_os_mapping_is_of(mapping, search->trace);
  return search->found;
}

/* Returns whether the process has the trace mapped, or `if_hidden` if its mappings cannot be read. */
static bool is_mapped(uint32_t pid, const struct hwi_os_file *trace, bool if_hidden)
{
  struct search search = {trace, false};
  return hwi_os_each_mapping(pid, is_of_trace, &search) ? search.found : if_hidden;
}

struct traced {
  const struct hw_trace_header *header;
  struct hwi_os_file trace;
};

/* A program that could not read /proc wrote neither its start nor its namespace: then the process is the one that has
 * the trace mapped. If only the namespace is unknown, the pid and the start decide. */
static bool is_process_of(const void *context, uint32_t pid)
{
  const struct traced *traced = context;
  const struct hw_trace_header *header = traced->header;
  uint64_t start = hwi_os_running_process_start(pid);
  if (!start || (header->process_start && start != header->process_start) || hwi_os_inner_pid(pid) != header->pid)
    return false;
  if (!header->process_start)
    return is_mapped(pid, &traced->trace, false);
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
  char path[HWI_OS_PATH_BYTES];
  const struct traced traced = {header, hwi_os_file_of_fd(fd, path)};
  return hwi_os_find_process(is_process_of, &traced);
}

static bool is_running(uint32_t pid, const struct hw_trace_header *header)
{
  const uint64_t start = pid ? hwi_os_running_process_start(pid) : 0;
  return start && (!header->process_start || start == header->process_start);
}

bool hwi_trace_process_runs(int fd, const struct hw_trace_header *header)
{
  return is_running(hwi_trace_process(fd, header), header);
}

bool hwi_trace_is_written_by(uint32_t pid, int fd, const struct hw_trace_header *header)
{
  if (!is_running(pid, header))
    return false;
  char path[HWI_OS_PATH_BYTES];
  struct hwi_os_file trace = hwi_os_file_of_fd(fd, path);
  return is_mapped(pid, &trace, true);
}

/* A trace does not state whether its pid namespace is one whose processes are visible. */
uint32_t hwi_trace_writer(int fd, const struct hw_trace_header *header)
{
  if (header->kind != HW_TRACE_RAW)
    return 0;
  uint32_t pid = hwi_trace_process(fd, header);
  if (!pid && header->pid && header->state != HW_STATE_EXITED && !hwi_os_sees_all_processes())
    return HWI_WRITER_UNSEEN;
  return hwi_trace_is_written_by(pid, fd, header) ? pid : 0;
}

bool hwi_trace_is_being_written(int fd, const struct hw_trace_header *header)
{
  uint32_t writer = hwi_trace_writer(fd, header);
  return writer && writer != HWI_WRITER_UNSEEN;
}
