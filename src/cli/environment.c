/* environment.c - warns about misspelt HEAPWRIGHT_* variables, which would otherwise be ignored silently */
#include "cli/environment.h"

#include <string.h>

#include "report/input/suggest.h"

static const char prefix[] = "HEAPWRIGHT_";

/* The variables that the recorder and the pool read, and those that `run` passes to its library. */
static const char *const known[] = {
    "HEAPWRIGHT_OUTPUT",       "HEAPWRIGHT_RUN",         "HEAPWRIGHT_DEPTH",     "HEAPWRIGHT_MAX_SIZE",
    "HEAPWRIGHT_USABLE",       "HEAPWRIGHT_DURATIONS",   "HEAPWRIGHT_PAUSED",    "HEAPWRIGHT_CHILDREN",
    "HEAPWRIGHT_ONLY_PROCESS", "HEAPWRIGHT_CHECK",       "HEAPWRIGHT_LAUNCHER",  "HEAPWRIGHT_POOL_SIZE",
    "HEAPWRIGHT_POOL_GROWTH",  "HEAPWRIGHT_POOL_POLICY", "HEAPWRIGHT_POOL_LOCK", "HEAPWRIGHT_POOL_HUGE_PAGES",
    "HEAPWRIGHT_POOL_STATS",   "HEAPWRIGHT_POOL_TOUCH",  "HEAPWRIGHT_ALONE",
};

int hwi_environment_check(char **environment)
{
  int warnings = 0;
  for (; *environment; environment++) {
    if (strncmp(*environment, prefix, sizeof prefix - 1) != 0)
      continue;
    size_t bytes = strcspn(*environment, "=");
    struct hwi_suggestion suggestion;
    hwi_suggestion_init(&suggestion, *environment, bytes);
    bool found = false;
    for (size_t i = 0; i < sizeof known / sizeof *known && !found; i++) {
      found = strlen(known[i]) == bytes && memcmp(known[i], *environment, bytes) == 0;
      hwi_suggestion_offer(&suggestion, known[i]);
    }
    if (found)
      continue;
    bool near = suggestion.best;
    hwi_warn("the environment variable %.*s is none of heapwright's and has no effect%s%s%s", (int)bytes, *environment,
             near ? "; did you mean " : "", near ? suggestion.best : "", near ? "?" : "");
    warnings++;
  }
  return warnings;
}
