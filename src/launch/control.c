/* control.c - pauses or resumes the recording of a run, or adds a mark to it, while the run goes on
 *
 * All requests go through the trace file, which the programs have mapped: there is no signal and no connection. A
 * process is being recorded if its mappings include a trace.
 */
#include "launch/control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/suffix.h"
#include "launch/tool_log.h"
#include "platform/os_tools.h"
#include "trace/read/alive.h"
#include "trace/read/run.h"

/* --- the trace of a process --- */

struct search {
  uint32_t pid;
  char *path; /* malloc'd; the best trace so far */
};

static bool read_header(int fd, struct hw_trace_header *header)
{
  return pread(fd, header, sizeof *header, 0) == (ssize_t)sizeof *header &&
         memcmp(header->magic, HW_TRACE_MAGIC, HW_TRACE_MAGIC_BYTES) == 0;
}

/* Returns true to end the search. A child has a mapping of its parent's trace until it allocates; that trace is used if
 * there is no better one. */
static bool look_at(void *context, const struct hwi_os_mapping *mapping)
{
  struct search *search = context;
  struct hw_trace_header header;
  struct stat about;
  if (mapping->access != (HWI_OS_READ | HWI_OS_WRITE | HWI_OS_SHARED) || *mapping->name != '/')
    return false;
  int fd = open(mapping->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0)
    return false;
  bool is_trace = fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && read_header(fd, &header);
  uint32_t process = is_trace ? hwi_trace_process(fd, &header) : 0;
  close(fd);
  if (!is_trace)
    return false;
  free(search->path);
  search->path = strdup(mapping->name);
  return process == search->pid;
}

static int find_by_pid(uint32_t pid, char **path, struct hwi_error *error)
{
  struct search search = {.pid = pid};
  if (!hwi_os_running_process_start(pid))
    return hwi_error_set(error, HW_ERR_USAGE, "there is no process %u", pid);
  if (!hwi_os_each_mapping(pid, look_at, &search))
    return hwi_error_set(error, HW_ERR_IO, "cannot look into process %u: %s", pid, strerror(errno));
  if (!search.path)
    return hwi_error_set(error, HW_ERR_USAGE,
                         "process %u is not being recorded; 'heapwright record' starts a program that is", pid);
  *path = search.path;
  return 0;
}

/* Returns the NAME of a trace in NAME.children, which is cut off in place. */
static void cut_children(char *path)
{
  static const char suffix[] = ".children";
  char *slash = strrchr(path, '/');
  const size_t bytes = slash ? (size_t)(slash - path) : 0;
  if (hwi_has_suffix(path, bytes, suffix))
    path[bytes - (sizeof suffix - 1)] = 0;
}

struct each {
  void (*take)(void *context, const char *path, uint64_t start_ns);
  void *context;
};

/* Returns false, so that all processes are looked at. */
static bool look_for_recording(const void *context, uint32_t pid)
{
  const struct each *each = context;
  struct search search = {.pid = pid};
  struct hw_trace_header header;
  struct stat about;
  const int fd =
      hwi_os_each_mapping(pid, look_at, &search) && search.path ? open(search.path, O_RDONLY | O_CLOEXEC) : -1;
  const bool is_written = fd >= 0 && read_header(fd, &header) && fstat(fd, &about) == 0 && about.st_uid == geteuid() &&
                          hwi_trace_process(fd, &header) == pid;
  if (fd >= 0)
    close(fd);
  if (is_written) {
    cut_children(search.path);
    each->take(each->context, search.path, header.start.monotonic_ns);
  }
  free(search.path);
  return false;
}

void hwi_control_each(void (*take)(void *context, const char *path, uint64_t start_ns), void *context)
{
  const struct each each = {take, context};
  hwi_os_find_process(look_for_recording, &each);
}

struct newest {
  char *path; /* malloc'd */
  uint64_t start_ns;
};

static void take_newer(void *context, const char *path, uint64_t start_ns)
{
  struct newest *newest = context;
  char *copy = start_ns > newest->start_ns ? strdup(path) : NULL;
  if (!copy)
    return;
  free(newest->path);
  *newest = (struct newest){copy, start_ns};
}

int hwi_control_newest(char **path, struct hwi_error *error)
{
  struct newest newest = {0};
  hwi_control_each(take_newer, &newest);
  if (!newest.path)
    return hwi_error_set(error, HW_ERR_USAGE,
                         "no program of yours is being recorded; start one: heapwright live -- COMMAND");
  *path = newest.path;
  return 0;
}

/* --- the run --- */

static bool is_number(const char *text, uint32_t *number)
{
  char *end;
  errno = 0;
  unsigned long value = strtoul(text, &end, 10);
  *number = (uint32_t)value;
  return *text >= '0' && *text <= '9' && *end == 0 && errno == 0 && value > 0 && value <= INT32_MAX;
}

static bool exists(const char *path)
{
  struct stat about;
  return stat(path, &about) == 0;
}

/* A number is a process ID, unless a file has that name. */
int hwi_control_find(const char *target, char **path, struct hwi_error *error)
{
  uint32_t pid;
  if (!exists(target) && is_number(target, &pid))
    return find_by_pid(pid, path, error);
  *path = strdup(target);
  return *path ? 0 : hwi_error_set(error, HW_ERR_MEMORY, "no memory");
}

static int act(const struct hwi_control_request *request, struct hwi_tool_log *log, bool *changed)
{
  if (request->action == HWI_CONTROL_MARK) {
    *changed = true;
    return hwi_tool_log_append(log, HW_TOOL_MARK, hwi_monotonic_ns(), request->text, (uint32_t)strlen(request->text));
  }
  return hwi_control_word_set(log, request->action == HWI_CONTROL_OFF ? HW_CONTROL_PAUSE : HW_CONTROL_RECORD, changed);
}

static int act_on(const struct hwi_control_request *request, const char *path, struct hwi_controlled *controlled,
                  struct hwi_error *error)
{
  struct hw_trace_header header;
  bool changed = false;
  int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (fd < 0)
    return hwi_error_set(error, HW_ERR_IO, "cannot write to the trace %s: %s", path, strerror(errno));
  int status = 0;
  if (read_header(fd, &header) && hwi_trace_is_being_written(fd, &header)) {
    struct hwi_tool_log log = {.fd = fd};
    controlled->process_count++;
    status = act(request, &log, &changed);
    if (status == HW_ERR_LIMIT)
      hwi_error_set(error, status, "%s has no room for more marks and pauses", path);
    else if (status == HW_ERR_BUSY)
      hwi_error_set(error, status, "another program holds a lock on %s; try again", path);
    else if (status < 0)
      hwi_error_set(error, status, "cannot write to the trace %s: %s", path, strerror(errno));
    controlled->changed_count += status == 0 && changed;
  }
  close(fd);
  return status;
}

int hwi_control(const struct hwi_control_request *request, struct hwi_controlled *controlled, struct hwi_error *error)
{
  struct hwi_run run = {0};
  char *path = NULL;
  *controlled = (struct hwi_controlled){0};
  int status = hwi_control_find(request->target, &path, error);
  if (status == 0 && request->only_this)
    status = act_on(request, path, controlled, error);
  else if (status == 0 && (status = hwi_run_find(&run, path, true, error)) == 0)
    for (size_t i = 0; i < run.count && status == 0; i++)
      status = act_on(request, run.images[i].path, controlled, error);
  hwi_run_release(&run);
  if (status == 0 && !controlled->process_count)
    status = hwi_error_set(error, HW_ERR_USAGE, "%s is not being written any more: its program has ended", path);
  free(path);
  return status;
}
