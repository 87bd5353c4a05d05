/* conform.h - tries what a malloc replacement promises: each rule in a process of its own, so that a crash or a hang has a name */
#ifndef HWI_LAUNCH_CONFORM_H
#define HWI_LAUNCH_CONFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct hwi_conform_rule {
  const char *name, *promise;
  bool is_practice; /* what glibc does and others may not */
  bool is_cxx;      /* needs the C++ runtime */
};

extern const struct hwi_conform_rule hwi_conform_rules[];
extern const size_t hwi_conform_rule_count;

enum hwi_conform_result {
  HWI_CONFORM_KEPT = 0,
  HWI_CONFORM_DIFFERS = 1, /* a rule of practice is not kept */
  HWI_CONFORM_BROKEN = 2,
  HWI_CONFORM_UNTRIED = 3, /* the system lacks what is needed */
};

struct hwi_conform_outcome {
  enum hwi_conform_result result;
  char text[1280]; /* what was seen; "" where it was kept */
  uint64_t duration_ns;
};

/* Tries a rule with `preload` (as hwi_allocator_find has it; NULL: the malloc of libc) for at most `seconds`. 0, or negative where
 * no process could be started. */
int hwi_conform_try(const struct hwi_conform_rule *rule, const char *preload, unsigned seconds,
                    struct hwi_conform_outcome *outcome, struct hwi_error *error);

#endif
