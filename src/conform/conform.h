/* conform.h - shared by the rules: reporting that a rule is broken, patterns in blocks, pseudo-random numbers
 *
 * A rule runs alone in a process that uses the tested malloc. It returns if the promise was kept. It depends on as
 * little else as possible: messages are written by write(2), and nothing here allocates.
 */
#ifndef HWI_CONFORM_CONFORM_H
#define HWI_CONFORM_CONFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "conform/rule_list.h"

/* The exit status of the process. If the malloc causes it, the process is killed by a signal or hangs. */
enum hwi_rule_result {
  HWI_RULE_KEPT = 0,
  HWI_RULE_BROKEN = 1,
  HWI_RULE_UNTRIED = 3, /* something that the test needs is missing */
  HWI_RULE_UNKNOWN = 4, /* no such rule: the tool and this program have different versions */
};

#define HWI_RULE_PROTOTYPE(id, name, kind, promise) void hwi_rule_##id(void);
HWI_RULE_LIST(HWI_RULE_PROTOTYPE)
#undef HWI_RULE_PROTOTYPE

/* Ends the process with a report of how the rule is broken. Can be called on any thread, and in forked children. */
_Noreturn void hwi_conform_broken(const char *format, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void hwi_conform_untried(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define EXPECT(condition, ...)         \
  do {                                 \
    if (!(condition))                  \
      hwi_conform_broken(__VA_ARGS__); \
  } while (0)

/* Sets the description of the current step, which is reported if the process crashes or hangs. The text must stay
 * valid. */
void hwi_conform_now(const char *text);

/* Waits for a child that should return HWI_RULE_KEPT; ends the process if it does not. */
void hwi_conform_wait(pid_t child, const char *what);

/* The time limit of a rule is extended while it uses the processor, up to this many times. */
enum { HWI_CONFORM_ROUNDS_MAX = 6 };
extern unsigned hwi_conform_seconds;

/* Returns the least CPU time that a rule uses in that time if it makes progress, even if other programs keep the
 * machine busy. */
static inline uint64_t hwi_conform_least_ns(unsigned seconds)
{
  const uint64_t second_ns = 1000000000;
  enum { LEAST_SHARE = 200 };
  return seconds * second_ns / LEAST_SHARE;
}

/* Sets the time limit, also in a forked child, from now on. SIGALRM ends the process if it hangs. */
void hwi_conform_limit(unsigned seconds);

/* Returns the same pointer, but hides from the compiler its alignment and that it is new. */
static inline void *seen(void *block)
{
  __asm__ volatile("" : "+r"(block) : : "memory");
  return block;
}

static inline bool is_aligned(const void *block, size_t align)
{
  return ((uintptr_t)block & (align - 1)) == 0;
}

/* Fills a block with bytes that depend on `seed` and on their index. */
void hwi_pattern_fill(void *block, size_t bytes, uint32_t seed);
/* Returns the index of the first byte that differs from the pattern, or `bytes` if there is none. */
size_t hwi_pattern_check(const void *block, size_t bytes, uint32_t seed);
size_t hwi_zero_check(const void *block, size_t bytes);

/* Returns the resident memory of this process. Ends the process if that is unknown. */
size_t hwi_resident_bytes(void);

/* Returns the next pseudo-random number. *state belongs to the caller and must not be 0. */
uint32_t hwi_random(uint32_t *state);

/* Returns a size of at least 1: mostly small, sometimes up to `max`. */
size_t hwi_random_size(uint32_t *state, size_t max);

#endif
