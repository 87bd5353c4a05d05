/* variables.c - the environment variables that the launcher sets for the command */
#include "launch/start/variables.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launch/output.h"
#include "platform/os.h"
#include "trace/grow.h"

static void __attribute__((format(printf, 2, 3))) add(struct hwi_variables *variables, const char *format, ...)
{
  char *text = NULL;
  va_list arguments;
  va_start(arguments, format);
  int bytes = vasprintf(&text, format, arguments);
  va_end(arguments);
  if (bytes < 0 ||
      !hwi_grow((void **)&variables->texts, &variables->capacity, variables->count + 2, sizeof *variables->texts)) {
    variables->failed = true;
    return;
  }
  variables->texts[variables->count++] = text;
  variables->texts[variables->count] = NULL;
}

/* Returns LD_PRELOAD as the user's own variables set it, otherwise as it is in our environment. */
static const char *preloaded(const struct hwi_launch_options *options)
{
  static const char prefix[] = "LD_PRELOAD=";
  const char *found = getenv("LD_PRELOAD");
  for (size_t i = 0; i < options->variable_count; i++)
    if (strncmp(options->variables[i], prefix, sizeof prefix - 1) == 0)
      found = options->variables[i] + sizeof prefix - 1;
  return found && *found ? found : NULL;
}

static void add_options(struct hwi_variables *variables, const struct hwi_launch_options *options)
{
  if (options->depth)
    add(variables, "HEAPWRIGHT_DEPTH=%llu", (unsigned long long)options->depth);
  if (options->max_size)
    add(variables, "HEAPWRIGHT_MAX_SIZE=%llu", (unsigned long long)options->max_size);
  if (options->usable >= 0)
    add(variables, "HEAPWRIGHT_USABLE=%d", options->usable);
  if (options->durations)
    add(variables, "HEAPWRIGHT_DURATIONS=1");
  if (options->paused)
    add(variables, "HEAPWRIGHT_PAUSED=1");
  if (!options->children)
    add(variables, "HEAPWRIGHT_CHILDREN=0");
  if (options->only_process)
    add(variables, "HEAPWRIGHT_ONLY_PROCESS=%s", options->only_process);
}

void hwi_variables_init(struct hwi_variables *variables, const struct hwi_launch_options *options, const char *library,
                        const char *name, const uint8_t run_id[HW_ID_BYTES])
{
  *variables = (struct hwi_variables){0};
  for (size_t i = 0; i < options->variable_count; i++)
    add(variables, "%s", options->variables[i]);
  if (!library) {
    variables->failed |= !hwi_grow((void **)&variables->texts, &variables->capacity, 1, sizeof *variables->texts);
    return;
  }
  const char *others = preloaded(options);
  char *pattern = hwi_output_pattern(name);
  char id[2 * HW_ID_BYTES + 1];
  for (int i = 0; i < HW_ID_BYTES; i++)
    snprintf(id + 2 * (size_t)i, 3, "%02x", run_id[i]);
  add(variables, "LD_PRELOAD=%s%s%s", library, others ? ":" : "", others ? others : "");
  add(variables, "HEAPWRIGHT_RUN=%s", id);
  add(variables, "HEAPWRIGHT_LAUNCHER=%ld.%llu", (long)getpid(),
      (unsigned long long)hwi_os_process_start((uint32_t)getpid()));
  variables->failed |= !pattern;
  if (pattern)
    add(variables, "HEAPWRIGHT_OUTPUT=%s", pattern);
  add_options(variables, options);
  free(pattern);
}

void hwi_variables_release(struct hwi_variables *variables)
{
  for (size_t i = 0; i < variables->count; i++)
    free(variables->texts[i]);
  free(variables->texts);
  *variables = (struct hwi_variables){0};
}
