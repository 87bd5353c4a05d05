/* executed.c - notes in the trace which programs the process and its children are about to execute */
#include "record/runtime/executed.h"

#include <stdatomic.h>
#include <string.h>

#include "platform/os.h"
#include "record/session.h"

static struct hw_exec *place_for(uint32_t pid)
{
  struct hw_trace_header *header = hwi_session.header;
  if (!header)
    return NULL;
  if (pid == hwi_session.pid)
    return hwi_session.is_next_expected ? &header->exec : NULL;
  if (!hwi_session.are_children_expected)
    return NULL;
  return &header->child_execs[__atomic_fetch_add(&header->child_exec_count, 1, __ATOMIC_RELAXED) % HW_CHILD_EXECS];
}

/* Returns how many bytes may be read at `path`, at most the length of the longest path. For an invalid address the
 * kernel itself will return EFAULT. */
static size_t readable_bytes(const char *path)
{
  uintptr_t off = (uintptr_t)path % HWI_OS_PAGE_BYTES;
  size_t pages = path ? hwi_os_readable_pages((uintptr_t)path - off, 2) : 0;
  size_t bytes = pages ? pages * HWI_OS_PAGE_BYTES - off : 0;
  return bytes < HWI_OS_PATH_BYTES ? bytes : HWI_OS_PATH_BYTES;
}

static void copy_name(char name[HW_EXEC_NAME_BYTES], const char *path)
{
  size_t end = strnlen(path, readable_bytes(path)), start = end;
  while (start > 0 && path[start - 1] != '/')
    start--;
  size_t bytes = end - start < HW_EXEC_NAME_BYTES - 1 ? end - start : HW_EXEC_NAME_BYTES - 1;
  memset(name, 0, HW_EXEC_NAME_BYTES);
  memcpy(name, path + start, bytes);
}

static struct hwi_executed note(uint32_t pid, const char *path)
{
  struct hw_exec *to = place_for(pid);
  if (!to)
    return (struct hwi_executed){0};
  uint32_t word = pid == atomic_load(&hwi_session.liveness->counted) ? pid | HW_EXEC_IS_COUNTED : pid;
  __atomic_store_n(&to->pid, 0, __ATOMIC_RELEASE);
  copy_name(to->name, path);
  __atomic_store_n(&to->pid, word, __ATOMIC_RELEASE);
  return (struct hwi_executed){to, word};
}

struct hwi_executed hwi_executed_begin(const char *path)
{
  return note(hwi_os_pid(), path);
}

void hwi_executed_fail(struct hwi_executed executed)
{
  if (executed.noted) /* otherwise another process may use the note by now */
    __atomic_compare_exchange_n(&executed.noted->pid, &executed.pid, 0, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void hwi_executed_child(uint32_t pid, const char *path)
{
  note(pid, path);
}
