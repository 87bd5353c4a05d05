/* alone.c - libheapwright-alone.so: keeps an allocator that `heapwright run` preloads to the one process that it was meant for
 *
 * Preloaded beside the allocator. Before main it gives LD_PRELOAD the value back that the caller had, so that programs
 * which this one starts have the malloc that they would have had. The names are known to launch/run.c.
 *
 * env, which scripts begin with ("#!/usr/bin/env python3"), is never what was meant, but what it executes in its own place: it
 * hands everything on.
 *
 * It works on `environ` itself: bash and others define getenv and setenv anew, over variables that they have not read yet.
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
  if (bytes > 0 && bytes <= strlen(value)) { /* the value ends in it */
    memcpy(value, before, bytes + 1);
    preload = NULL;
  }
  drop(alone);
  if (preload && (preload = find("LD_PRELOAD")))
    drop(preload);
}
