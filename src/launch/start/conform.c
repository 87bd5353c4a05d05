/* conform.c - tests whether a malloc replacement keeps malloc's contract */
#include "launch/start/conform.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "conform/conform.h"
#include "launch/start/helper.h"

#define IS_PRACTICE_MUST false
#define IS_PRACTICE_CXX false
#define IS_PRACTICE_PRACTICE true
#define IS_CXX_MUST false
#define IS_CXX_CXX true
#define IS_CXX_PRACTICE false
#define RULE(id, name, kind, promise) {name, promise, IS_PRACTICE_##kind, IS_CXX_##kind},
const struct hwi_conform_rule hwi_conform_rules[] = {HWI_RULE_LIST(RULE)};
const size_t hwi_conform_rule_count = sizeof hwi_conform_rules / sizeof *hwi_conform_rules;

/* The program ends itself at its time limit, and then reports where it hung; it is killed if it cannot do so. Checking
 * the time uses the processor, so a program that waits for a child that still works is never idle for that long. */
enum { GRACE_SECONDS = 2, SECOND_NS = 1000000000 };

static void word_death(const struct hwi_helper_end *end, char *text, size_t room)
{
  int number = WTERMSIG(end->wait_status);
  const char *where = *end->said ? end->said : "before it began, or at an unknown place";
  if (end->is_late || number == SIGALRM)
    snprintf(text, room, "no end within %u s: %s", (unsigned)(end->duration_ns / SECOND_NS), where);
  else
    snprintf(text, room, "died of SIG%s: %s%s%s", sigabbrev_np(number) ? sigabbrev_np(number) : "?", where,
             *end->complained ? "; it printed: " : "", end->complained);
}

int hwi_conform_try(const struct hwi_conform_rule *rule, const char *preload, unsigned seconds,
                    struct hwi_conform_outcome *outcome, struct hwi_error *error)
{
  static const char runtime[] = "libstdc++.so.6";
  char limit[16], *both = NULL;
  *outcome = (struct hwi_conform_outcome){0};
  snprintf(limit, sizeof limit, "%u", seconds);
  if (preload && rule->is_cxx && asprintf(&both, "%s:%s", preload, runtime) < 0)
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory");
  const char *const arguments[] = {rule->name, limit, NULL};
  struct hwi_helper_run run = {arguments,
                               both           ? both
                               : rule->is_cxx ? runtime
                                              : preload,
                               seconds * HWI_CONFORM_ROUNDS_MAX + GRACE_SECONDS, seconds + GRACE_SECONDS};
  struct hwi_helper_end end;
  int status = hwi_helper_run(&run, &end, error);
  free(both);
  if (status < 0)
    return status;
  outcome->duration_ns = end.duration_ns;
  int verdict = WIFEXITED(end.wait_status) ? WEXITSTATUS(end.wait_status) : HWI_RULE_BROKEN;
  if (verdict == HWI_RULE_KEPT)
    return 0;
  outcome->result = verdict == HWI_RULE_UNTRIED ? HWI_CONFORM_UNTRIED
                    : rule->is_practice         ? HWI_CONFORM_DIFFERS
                                                : HWI_CONFORM_BROKEN;
  if (end.is_late || WIFSIGNALED(end.wait_status))
    word_death(&end, outcome->text, sizeof outcome->text);
  else if (*end.said)
    snprintf(outcome->text, sizeof outcome->text, "%s", end.said);
  else
    snprintf(outcome->text, sizeof outcome->text, "ended with status %d%s%s", verdict,
             *end.complained ? "; it printed: " : "", end.complained);
  return 0;
}
