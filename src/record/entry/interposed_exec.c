/* interposed_exec.c - the functions that execute a program, interposed because their calls matter to the recorder
 *
 * Each notes the program, calls its real counterpart, and removes the note if that returns. A child of vfork may call
 * all of them, and so may a signal handler. system and popen call libc's own functions, and execute a shell, which
 * records itself.
 */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include "record/runtime/executed.h"
#include "record/runtime/real.h"

#define NOTICED __attribute__((visibility("default")))

NOTICED int execve(const char *path, char *const arguments[], char *const variables[]);
NOTICED int execv(const char *path, char *const arguments[]);
NOTICED int execvp(const char *file, char *const arguments[]);
NOTICED int execvpe(const char *file, char *const arguments[], char *const variables[]);
NOTICED int fexecve(int fd, char *const arguments[], char *const variables[]);
NOTICED int execl(const char *path, const char *argument, ...);
NOTICED int execlp(const char *file, const char *argument, ...);
NOTICED int execle(const char *path, const char *argument, ...);
NOTICED int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                        const posix_spawnattr_t *attributes, char *const arguments[], char *const variables[]);
NOTICED int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                         const posix_spawnattr_t *attributes, char *const arguments[], char *const variables[]);

/* Whether `real` exists; searches for it if necessary. If there is none, sets errno for the caller. */
#define FOUND(real) ((real) || (hwi_real_find_interposed(), (real)) || (errno = ENOSYS, false))

static int with_variables(hwi_execve_fn *real, const char *path, char *const arguments[], char *const variables[])
{
  struct hwi_executed executed = hwi_executed_begin(path);
  int result = real(path, arguments, variables);
  hwi_executed_fail(executed);
  return result;
}

static int with_arguments(hwi_execv_fn *real, const char *path, char *const arguments[])
{
  struct hwi_executed executed = hwi_executed_begin(path);
  int result = real(path, arguments);
  hwi_executed_fail(executed);
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
  struct hwi_executed executed = hwi_executed_begin("an open file");
  int result = hwi_real_fexecve(fd, arguments, variables);
  hwi_executed_fail(executed);
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
  hwi_executed_child((uint32_t)made, path);
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
