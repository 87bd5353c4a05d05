/* own_variables.c - warns of environment variables that look like heapwright's and are none */
#include "cli/own_variables.h"

#include <stdlib.h>
#include <string.h>

#include "allocators/heap/config.h"
#include "cli/command.h"
#include "report/input/suggest.h"

extern char **environ;

static const char prefix[] = "HEAPWRIGHT_";

/* The variables that the recorder, the pool and the heap read, and those that `run` passes to its library; without those of
 * the fields of a heap's config. */
static const char *const known[] = {
    "HEAPWRIGHT_OUTPUT",
    "HEAPWRIGHT_RUN",
    "HEAPWRIGHT_DEPTH",
    "HEAPWRIGHT_MAX_SIZE",
    "HEAPWRIGHT_USABLE",
    "HEAPWRIGHT_DURATIONS",
    "HEAPWRIGHT_PAUSED",
    "HEAPWRIGHT_CHILDREN",
    "HEAPWRIGHT_ONLY_PROCESS",
    "HEAPWRIGHT_CHECK",
    "HEAPWRIGHT_REDIRECT",
    "HEAPWRIGHT_LAUNCHER",
    "HEAPWRIGHT_POOL_SIZE",
    "HEAPWRIGHT_POOL_GROWTH",
    "HEAPWRIGHT_POOL_POLICY",
    "HEAPWRIGHT_POOL_LOCK",
    "HEAPWRIGHT_POOL_HUGE_PAGES",
    "HEAPWRIGHT_POOL_STATS",
    "HEAPWRIGHT_POOL_TOUCH",
    "HEAPWRIGHT_ALONE",
    "HEAPWRIGHT_TRAP",
    "HEAPWRIGHT_FRAMES",
    "HEAPWRIGHT_INLINE",
    "HEAPWRIGHT_RED_ZONE",
    "HEAPWRIGHT_KEEP_FREED",
    "HEAPWRIGHT_REPORT_DAMAGE",
    "HEAPWRIGHT_ITT_IGNORE",
    "HEAPWRIGHT_ITT_VERBOSE",
    "HEAPWRIGHT_QUIET",
    "HEAPWRIGHT_SAMPLE",
    "HEAPWRIGHT_STATS",
    HWI_HEAP_LIBC_VARIABLE,
    HWI_HEAP_CONFIG_VARIABLE,
};

/* Returns whether `name` is this variable, and offers it otherwise. */
static bool is_or_offer(const char *name, struct hwi_suggestion *suggestion, const char *variable, size_t bytes)
{
  hwi_suggestion_offer(suggestion, name);
  return strlen(name) == bytes && memcmp(name, variable, bytes) == 0;
}

/* `variable` may be followed by its value. */
static void check(const char *variable)
{
  size_t bytes = strcspn(variable, "=");
  struct hwi_suggestion suggestion;
  if (strncmp(variable, prefix, sizeof prefix - 1) != 0)
    return;
  hwi_suggestion_init(&suggestion, variable, bytes);
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (is_or_offer(known[i], &suggestion, variable, bytes))
      return;
  for (size_t i = 0; i < HWI_HEAP_FIELDS; i++)
    if (is_or_offer(hwi_heap_fields[i].variable, &suggestion, variable, bytes))
      return;
  bool near = suggestion.best;
  hwi_warn("the environment variable %.*s is none of heapwright's and has no effect%s%s%s", (int)bytes, variable,
           near ? "; did you mean " : "", near ? suggestion.best : "", near ? "?" : "");
}

void hwi_own_variables_check_environment(void)
{
  for (char **variable = environ; *variable; variable++)
    check(*variable);
}

/* Returns whether the environment has a variable of this name, too. */
static bool is_in_environment(const char *variable)
{
  size_t bytes = strcspn(variable, "=");
  for (char **other = environ; *other; other++)
    if (strncmp(*other, variable, bytes) == 0 && (*other)[bytes] == '=')
      return true;
  return false;
}

void hwi_own_variables_check(const struct hwi_texts *variables)
{
  for (size_t i = 0; i < variables->count; i++)
    if (!is_in_environment(variables->items[i]))
      check(variables->items[i]);
}
