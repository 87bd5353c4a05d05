/* alone.c - libheapwright-alone.so: keeps the allocator that `heapwright run` preloads to the one process it is meant
 * for
 *
 * It is preloaded together with the allocator. Before main it restores LD_PRELOAD as the caller had it, so that
 * programs which this process starts use the malloc that they would use without heapwright.
 * launch/start/exec_command.c uses its names.
 *
 * The allocator is never meant for env, with which scripts begin ("#!/usr/bin/env python3"), but for the program that
 * env executes in the same process. So in env it changes nothing.
 *
 * It changes `environ` directly: bash and others replace getenv and setenv by functions that use variables which are
 * not initialized yet.
 */
#include "run/alone.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

static char **find(const char *name)
{
  size_t bytes = strlen(name);
  char **at = environ;
  while (at && *at && (strncmp(*at, name, bytes) != 0 || (*at)[bytes] != '='))
    at++;
  return at && *at ? at : NULL;
}

static void drop(char **at)
{
  for (; *at; at++)
    at[0] = at[1];
}

__attribute__((constructor)) static void restore(void)
{
  char **preload = find("LD_PRELOAD"), **alone = find(HWI_ALONE_VARIABLE);
  if (!preload || !alone || !strcmp(program_invocation_short_name, "env"))
    return;
  const char *before = strchr(*alone, '=') + 1;
  char *value = strchr(*preload, '=') + 1;
  size_t bytes = strlen(before);
  if (bytes > 0 && bytes <= strlen(value)) { /* it is the end of the value */
    memcpy(value, before, bytes + 1);
    preload = NULL;
  }
  drop(alone);
  if (preload && (preload = find("LD_PRELOAD")))
    drop(preload);
}
