/* interposed_exec.c - the functions that execute a program: they note in the trace which program it is
 *
 * Each notes the program, calls its real counterpart, and removes the note if that returns. A child of vfork may call
 * all of them, and so may a signal handler: every function is async-signal-safe. system and popen call libc's own
 * functions, and execute a shell, which records itself.
 *
 * A program that begins a trace in the same run need not be noted. The others (static programs, those whose environment
 * lacks the recorder, or that cannot write a trace) leave no other sign. A child of vfork, and one of fork that has
 * recorded no event, note the program in their parent's header, which they have mapped.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "platform/os.h"
#include "record/runtime/real.h"
#include "record/session.h"

#define EXPORTED __attribute__((visibility("default")))

EXPORTED int execve(const char *path, char *const arguments[], char *const variables[]);
EXPORTED int execv(const char *path, char *const arguments[]);
EXPORTED int execvp(const char *file, char *const arguments[]);
EXPORTED int execvpe(const char *file, char *const arguments[], char *const variables[]);
EXPORTED int fexecve(int fd, char *const arguments[], char *const variables[]);
EXPORTED int execl(const char *path, const char *argument, ...);
EXPORTED int execlp(const char *file, const char *argument, ...);
EXPORTED int execle(const char *path, const char *argument, ...);
EXPORTED int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                         const posix_spawnattr_t *attributes, char *const arguments[], char *const variables[]);
EXPORTED int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                          const posix_spawnattr_t *attributes, char *const arguments[], char *const variables[]);

/* --- the note in the trace --- */

struct executed {
  struct hw_exec *noted; /* NULL: not noted */
  uint32_t pid;          /* as noted there */
};

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

static struct executed note(uint32_t pid, const char *path)
{
  struct hw_exec *to = place_for(pid);
  if (!to)
    return (struct executed){0};
  uint32_t word = pid == atomic_load(&hwi_session.liveness->counted) ? pid | HW_EXEC_IS_COUNTED : pid;
  __atomic_store_n(&to->pid, 0, __ATOMIC_RELEASE);
  copy_name(to->name, path);
  __atomic_store_n(&to->pid, word, __ATOMIC_RELEASE);
  return (struct executed){to, word};
}

/* The calling process is about to execute `path`, which may be any address. */
static struct executed executed_begin(const char *path)
{
  return note(hwi_os_pid(), path);
}

/* The execution failed. */
static void executed_fail(struct executed executed)
{
  if (executed.noted) /* otherwise another process may use the note by now */
    __atomic_compare_exchange_n(&executed.noted->pid, &executed.pid, 0, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/* --- programs that replace the calling one --- */

/* Whether `real` exists; searches for it if necessary. If there is none, sets errno for the caller. */
#define FOUND(real) ((real) || (hwi_real_find_interposed(), (real)) || (errno = ENOSYS, false))

static int with_variables(hwi_execve_fn *real, const char *path, char *const arguments[], char *const variables[])
{
  struct executed executed = executed_begin(path);
  int result = real(path, arguments, variables);
  executed_fail(executed);
  return result;
}

static int with_arguments(hwi_execv_fn *real, const char *path, char *const arguments[])
{
  struct executed executed = executed_begin(path);
  int result = real(path, arguments);
  executed_fail(executed);
  return result;
}

/* Common end of the functions with single arguments. It does not call by name: another library may have interposed
 * that. */
static int run_with(const char *path, char *const arguments[], char *const variables[])
{
  return FOUND(hwi_real_execve) ? with_variables(hwi_real_execve, path, arguments, variables) : -1;
}

static int run(const char *path, char *const arguments[])
{
  return FOUND(hwi_real_execv) ? with_arguments(hwi_real_execv, path, arguments) : -1;
}

static int run_file(const char *file, char *const arguments[])
{
  return FOUND(hwi_real_execvp) ? with_arguments(hwi_real_execvp, file, arguments) : -1;
}

int execve(const char *path, char *const arguments[], char *const variables[])
{
  return run_with(path, arguments, variables);
}

int execvpe(const char *file, char *const arguments[], char *const variables[])
{
  return FOUND(hwi_real_execvpe) ? with_variables(hwi_real_execvpe, file, arguments, variables) : -1;
}

int execv(const char *path, char *const arguments[])
{
  return run(path, arguments);
}

int execvp(const char *file, char *const arguments[])
{
  return run_file(file, arguments);
}

int fexecve(int fd, char *const arguments[], char *const variables[])
{
  if (!FOUND(hwi_real_fexecve))
    return -1;
  struct executed executed = executed_begin("an open file");
  int result = hwi_real_fexecve(fd, arguments, variables);
  executed_fail(executed);
  return result;
}

/* --- arguments one by one --- */

static size_t count(const char *first, va_list list)
{
  size_t n = 0;
  for (const char *at = first; at; at = va_arg(list, const char *))
    n++;
  return n;
}

/* Uses the stack, as libc does: a handler, or a child of vfork, has no other memory. The variables of execle follow. */
#define COLLECT(arguments, list, first)        \
  va_start(list, first);                       \
  size_t argument_count = count(first, list);  \
  va_end(list);                                \
  char *arguments[argument_count + 1];         \
  va_start(list, first);                       \
  arguments[0] = (char *)(first);              \
  for (size_t i = 1; i <= argument_count; i++) \
  arguments[i] = va_arg(list, char *)

int execl(const char *path, const char *argument, ...)
{
  va_list list;
  COLLECT(arguments, list, argument);
  va_end(list);
  return run(path, arguments);
}

int execlp(const char *file, const char *argument, ...)
{
  va_list list;
  COLLECT(arguments, list, argument);
  va_end(list);
  return run_file(file, arguments);
}

int execle(const char *path, const char *argument, ...)
{
  va_list list;
  COLLECT(arguments, list, argument);
  char *const *variables = va_arg(list, char *const *);
  va_end(list);
  return run_with(path, arguments, variables);
}

/* --- children --- */

static void spawned(pid_t made, pid_t *pid, const char *path)
{
  note((uint32_t)made, path);
  if (pid)
    *pid = made;
}

int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                const posix_spawnattr_t *attributes, char *const arguments[], char *const variables[])
{
  pid_t made = 0;
  if (!FOUND(hwi_real_spawn))
    return errno;
  int error = hwi_real_spawn(&made, path, actions, attributes, arguments, variables);
  if (!error)
    spawned(made, pid, path);
  return error;
}

int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                 const posix_spawnattr_t *attributes, char *const arguments[], char *const variables[])
{
  pid_t made = 0;
  if (!FOUND(hwi_real_spawnp))
    return errno;
  int error = hwi_real_spawnp(&made, file, actions, attributes, arguments, variables);
  if (!error)
    spawned(made, pid, file);
  return error;
}
