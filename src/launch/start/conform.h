/* conform.h - runs heapwright-conform, the program that tests whether a malloc replacement keeps malloc's contract.
 * Each rule runs in a separate process, so that a crash or a hang can be assigned to a rule */
#ifndef HWI_LAUNCH_START_CONFORM_H
#define HWI_LAUNCH_START_CONFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* --- a run of the program --- */

struct hwi_conform_run {
  const char *const *arguments; /* without the program's name, ended by NULL */
  const char *preload;          /* LD_PRELOAD; NULL: none */
  unsigned seconds;             /* time limit: it is killed then, with all processes that it started */
  unsigned idle_seconds;        /* limit for the time in which it does not use the processor */
};

struct hwi_conform_end {
  int wait_status;
  bool is_late; /* it was killed */
  uint64_t duration_ns;
  char output[512]; /* on stdout; truncated if longer */
  char errors[512]; /* on stderr */
};

/* Returns 0, or a negative status if it could not be started. */
int hwi_conform_run(const struct hwi_conform_run *run, struct hwi_conform_end *end, struct hwi_error *error);

/* --- the rules --- */

struct hwi_conform_rule {
  const char *name, *promise;
  bool is_practice; /* glibc does so, other implementations may not */
  bool is_cxx;      /* needs the C++ runtime */
};

extern const struct hwi_conform_rule hwi_conform_rules[];
extern const size_t hwi_conform_rule_count;

enum hwi_conform_result {
  HWI_CONFORM_KEPT = 0,
  HWI_CONFORM_DIFFERS = 1, /* a rule of practice does not hold */
  HWI_CONFORM_BROKEN = 2,
  HWI_CONFORM_UNTRIED = 3, /* the system lacks something that the test needs */
};

struct hwi_conform_outcome {
  enum hwi_conform_result result;
  char text[1280]; /* what was observed; "" if the rule is kept */
  uint64_t duration_ns;
};

/* Tests a rule with `preload` (from hwi_allocator_find; NULL: libc's malloc) for at most `seconds`. Returns 0, or a
 * negative status if no process could be started. */
int hwi_conform_try(const struct hwi_conform_rule *rule, const char *preload, unsigned seconds,
                    struct hwi_conform_outcome *outcome, struct hwi_error *error);

#endif
