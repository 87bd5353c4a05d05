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

/* Returns what the name begins with as others do. Only these are similar, by the rest of their names: otherwise the long prefix would make
 * all of them similar. */
static const char *prefix_of(const char *name)
{
  static const char *const prefixes[] = {HWI_HEAP_PREFIX, "HEAPWRIGHT_POOL_"};
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
    if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
      return prefixes[i];
  return prefix;
}

/* Looks for a variable, and for the most similar one. */
struct search {
  const char *variable, *prefix;
  size_t bytes, prefix_bytes;
  struct hwi_suggestion suggestion; /* of names without the prefix */
};

/* Returns whether `name` is this variable, and offers it otherwise. */
static bool is_or_offer(struct search *search, const char *name)
{
  if (strncmp(name, search->prefix, search->prefix_bytes) == 0)
    hwi_suggestion_offer(&search->suggestion, name + search->prefix_bytes);
  return strlen(name) == search->bytes && memcmp(name, search->variable, search->bytes) == 0;
}

static void warn(const struct search *search)
{
  const char *meant = hwi_heap_variable_meant(search->variable);
  const char *best = meant ? meant : search->suggestion.best, *before = meant || !best ? "" : search->prefix;
  hwi_warn("the environment variable %.*s is none of heapwright's and has no effect%s%s%s%s", (int)search->bytes,
           search->variable, best ? "; did you mean " : "", before, best ? best : "", best ? "?" : "");
}

/* `variable` may be followed by its value. */
static void check(const char *variable)
{
  if (strncmp(variable, prefix, sizeof prefix - 1) != 0)
    return;
  struct search search = {.variable = variable, .prefix = prefix_of(variable), .bytes = strcspn(variable, "=")};
  search.prefix_bytes = strlen(search.prefix);
  hwi_suggestion_init(&search.suggestion, variable + search.prefix_bytes, search.bytes - search.prefix_bytes);
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (is_or_offer(&search, known[i]))
      return;
  for (size_t i = 0; i < HWI_HEAP_FIELDS; i++)
    if (is_or_offer(&search, hwi_heap_fields[i].variable))
      return;
  warn(&search);
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
