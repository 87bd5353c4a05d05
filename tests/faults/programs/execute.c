/* execute.c - executes PROGRAM by each function of the exec family: execute HOW FUNCTION PROGRAM, where HOW is here,
 * fork or vfork
 *
 * PROGRAM gets the arguments "a" and "b c". If the function passes an environment, it has one variable, X=Y, and the
 * variables of the recorder that are kept. With "fail" as a last argument, it first tries a program that does not
 * exist. Ends with PROGRAM's exit status.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const char *function, *program;
static char *given[] = {(char *)"name", (char *)"a", (char *)"b c", NULL};
static char *variables[64] = {(char *)"X=Y"};

static void keep_variables(void)
{
  size_t count = 1;
  for (char **at = environ; *at && count < 63; at++)
    if (!strncmp(*at, "LD_PRELOAD=", 11) || !strncmp(*at, "HEAPWRIGHT_", 11))
      variables[count++] = *at;
}

static int is(const char *name)
{
  return !strcmp(function, name);
}

static int execute(const char *path)
{
  if (is("execve"))
    return execve(path, given, variables);
  if (is("execv"))
    return execv(path, given);
  if (is("execvp"))
    return execvp(path, given);
  if (is("execvpe"))
    return execvpe(path, given, variables);
  if (is("execl"))
    return execl(path, given[0], given[1], given[2], (char *)NULL);
  if (is("execlp"))
    return execlp(path, given[0], given[1], given[2], (char *)NULL);
  if (is("execle"))
    return execle(path, given[0], given[1], given[2], (char *)NULL, variables);
  return fexecve(open(path, O_RDONLY | O_CLOEXEC), given, variables);
}

static int spawn(const char *path, pid_t *pid)
{
  int error = is("posix_spawn") ? posix_spawn(pid, path, NULL, NULL, given, environ)
                                : posix_spawnp(pid, path, NULL, NULL, given, environ);
  errno = error;
  return error ? -1 : 0;
}

static void try_what_is_not_there(void)
{
  pid_t pid = 77;
  errno = 0;
  int result = strstr(function, "posix") ? spawn("/not/there", &pid) : execute("/not/there");
  int wanted = is("fexecve") ? EBADF : ENOENT;
  if (result != -1 || (errno != wanted && errno != EINVAL) || pid != 77)
    _exit(99);
}

static int end_of(pid_t pid)
{
  int status = 0;
  if (pid < 0 || waitpid(pid, &status, 0) != pid)
    return 98;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 97;
}

int main(int argc, char **argv)
{
  pid_t pid = -1;
  const char *how = argv[1];
  function = argv[2];
  program = argv[3];
  keep_variables();
  free(malloc(100));
  if (argc > 4)
    try_what_is_not_there();
  if (argc > 4 && !strcmp(argv[4], "only"))
    return 0;
  if (strstr(function, "posix"))
    return spawn(program, &pid) ? 96 : end_of(pid);
  if (!strcmp(how, "here"))
    return execute(program);
  if (!strcmp(how, "fork"))
    pid = fork();
  else
    pid = vfork();
  if (pid == 0) {
    execute(program);
    _exit(95);
  }
  return end_of(pid);
}
