/* exec_command.c - replaces the calling process by a command that runs on another allocator, so exit status, signals
 * and terminal are the command's */
#include "launch/start/exec_command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launch/start/allocator.h"
#include "launch/start/heap_variables.h"
#include "launch/start/launch.h"
#include "launch/target/preload.h"
#include "launch/target/program.h"
#include "run/alone.h"

#define STATS_VARIABLE "HEAPWRIGHT_STATS"
#define STATS_OF_OPTION "stderr"

/* Order: the allocator, the library that keeps it to this process, then the libraries that would be preloaded
 * anyway. */
static int set_preload(const char *allocator, bool children, struct hwi_error *error)
{
  const char *others = getenv("LD_PRELOAD");
  char *alone = NULL, *all = NULL;
  int status = 0;
  if (!others)
    others = "";
  if (!children) {
    status = hwi_installed_find(&alone, HWI_ALONE_NAME, error);
    if (status == 0)
      status = hwi_preload_name(&alone, HWI_ALONE_NAME, error);
    if (status == 0 && setenv(HWI_ALONE_VARIABLE, others, 1) != 0)
      status = hwi_error_set(error, HW_ERR_MEMORY, "no memory");
  }
  if (status == 0 &&
      (asprintf(&all, "%s%s%s%s%s", allocator, alone ? ":" : "", alone ? alone : "", *others ? ":" : "", others) < 0 ||
       setenv("LD_PRELOAD", all, 1) != 0))
    status = hwi_error_set(error, HW_ERR_MEMORY, "no memory");
  free(alone);
  free(all);
  return status;
}

/* The option is about this command, and what the environment says may be older. */
static int set_stats(const struct hwi_exec_options *options, const char *allocator)
{
  if (!hwi_is_library(allocator, HWI_HEAP_LIBRARY))
    return setenv("HEAPWRIGHT_POOL_STATS", "1", 1);
  const char *file = getenv(STATS_VARIABLE);
  if (file && *file && strcmp(file, STATS_OF_OPTION) != 0)
    options->warn("--stats writes to stderr: nothing is written to '%s', which " STATS_VARIABLE
                  " names; leave --stats out to write to that file",
                  file);
  return setenv(STATS_VARIABLE, STATS_OF_OPTION, 1);
}

/* Two options that say where the heap's figures go are a mistake. */
static int check_variables(const struct hwi_exec_options *options, const char *allocator, struct hwi_error *error)
{
  static const char name[] = STATS_VARIABLE "=";
  if (!options->stats || !hwi_is_library(allocator, HWI_HEAP_LIBRARY))
    return 0;
  for (size_t i = 0; i < options->variable_count; i++) {
    const char *variable = options->variables[i];
    if (strncmp(variable, name, sizeof name - 1) == 0 && strcmp(variable + sizeof name - 1, STATS_OF_OPTION) != 0)
      return hwi_error_set(error, HW_ERR_USAGE,
                           "--stats means --env " STATS_VARIABLE "=" STATS_OF_OPTION ": leave it or --env %s out",
                           variable);
  }
  return 0;
}

static int set_variables(const struct hwi_exec_options *options, const char *allocator, struct hwi_error *error)
{
  char size[32];
  snprintf(size, sizeof size, "%llu", (unsigned long long)options->pool_bytes);
  if ((options->pool_bytes != HWI_EXEC_POOL_DEFAULT && setenv("HEAPWRIGHT_POOL_SIZE", size, 1) != 0) ||
      (options->stats && set_stats(options, allocator) != 0))
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory");
  for (size_t i = 0; i < options->variable_count; i++) {
    char *copy = strdup(options->variables[i]); /* becomes part of the environment */
    if (!copy || putenv(copy) != 0)
      return hwi_error_set(error, HW_ERR_MEMORY, "no memory");
  }
  return 0;
}

static int missing_or_not_executable(int os_error)
{
  return os_error == ENOENT || os_error == ENOTDIR ? HWI_LAUNCH_NOT_FOUND : HWI_LAUNCH_NOT_EXECUTABLE;
}

static int become(const char *path, char **command, struct hwi_error *error)
{
  fflush(NULL);
  hwi_heap_variables_drop_unknown();
  execv(path, command);
  if (errno == ENOEXEC) /* the shell runs a script without "#!", as execvp does */
    execvp(command[0], command);
  int os_error = errno;
  hwi_error_set(error, HW_ERR_IO, "cannot run '%s': %s", command[0], strerror(os_error));
  return missing_or_not_executable(os_error);
}

/* Warns of options that the allocator does not have. */
static void check_options(const struct hwi_exec_options *options, const char *allocator)
{
  if (hwi_is_library(allocator, HWI_POOL_LIBRARY))
    return;
  if (options->pool_bytes != HWI_EXEC_POOL_DEFAULT)
    options->warn("--pool-size is for tlsf; %s ignores it", options->allocator);
  if (options->stats && !hwi_is_library(allocator, HWI_HEAP_LIBRARY))
    options->warn("--stats is for tlsf and heap; %s ignores it", options->allocator);
}

static void check_malloc(const struct hwi_exec_options *options, const char *allocator, const char *command,
                         const struct hwi_program *program)
{
  const char *obstacle = hwi_allocator_obstacle(allocator, program);
  if (!obstacle && program->obstacle != HWI_OBSTACLE_NONE)
    obstacle = hwi_obstacle_text(program->obstacle);
  if (obstacle)
    options->warn(HWI_ON_OWN_MALLOC, command, obstacle);
  else if (program->allocator.linked_in)
    options->warn("'%s' has %s linked in, and uses that", command, program->allocator.linked_in);
}

/* If nothing can be preloaded into the command, the allocator may still serve the programs that it starts. */
static bool is_preloaded(const struct hwi_program *program, const struct hwi_exec_options *options)
{
  return program->is_static ? options->children : program->obstacle == HWI_OBSTACLE_NONE;
}

int hwi_exec_command(const struct hwi_exec_options *options, char **command, struct hwi_error *error)
{
  struct hwi_program program;
  char *allocator = NULL;
  hwi_program_find(&program, command[0]);
  int status = HWI_LAUNCH_FAILED;
  if (program.os_error != 0) {
    hwi_error_set(error, HW_ERR_USAGE, "cannot run '%s': %s", command[0],
                  program.path ? strerror(program.os_error) : "no such command");
    status = missing_or_not_executable(program.os_error);
    goto out;
  }
  if (hwi_allocator_find(&allocator, options->allocator, error) != 0)
    goto out;
  check_malloc(options, allocator, command[0], &program);
  check_options(options, allocator);
  if (check_variables(options, allocator, error) == 0 && set_variables(options, allocator, error) == 0 &&
      (!is_preloaded(&program, options) || set_preload(allocator, options->children, error) == 0))
    status = become(program.path, command, error);
out:
  hwi_program_release(&program);
  free(allocator);
  return status;
}
