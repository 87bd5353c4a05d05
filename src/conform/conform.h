/* conform.h - what the rules share: how one says that it is broken, patterns in blocks, a stream of numbers
 *
 * A rule runs alone in a process whose malloc is the one that is tried. It returns when the promise was kept. It leans on
 * as little else as possible: messages go out by write(2), and nothing here allocates.
 */
#ifndef HWI_CONFORM_CONFORM_H
#define HWI_CONFORM_CONFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "conform/rule_list.h"

/* The exit status of the process. It dies of a signal, or does not end, where the malloc does that to it. */
enum hwi_verdict {
  HWI_RULE_KEPT = 0,
  HWI_RULE_BROKEN = 1,
  HWI_RULE_UNTRIED = 3, /* something that is needed is not there */
  HWI_RULE_UNKNOWN = 4, /* no such rule: tool and program do not belong together */
};

#define HWI_RULE_PROTOTYPE(id, name, kind, promise) void hwi_rule_##id(void);
HWI_RULE_LIST(HWI_RULE_PROTOTYPE)
#undef HWI_RULE_PROTOTYPE

/* Ends the process: the rule is broken, and this is how. Any thread, and children by fork. */
_Noreturn void hwi_conform_broken(const char *format, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void hwi_conform_untried(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define EXPECT(condition, ...)         \
  do {                                 \
    if (!(condition))                  \
      hwi_conform_broken(__VA_ARGS__); \
  } while (0)

/* What is being done, told where the process dies or hangs. The text stays. */
void hwi_conform_now(const char *text);

/* Waits for a child that returns HWI_RULE_KEPT; ends the process where it does not. */
void hwi_conform_wait(pid_t child, const char *what);

/* How long a rule may take, and how many times that as long as it uses the processor. */
enum { HWI_CONFORM_ROUNDS_MAX = 6 };
extern unsigned hwi_conform_seconds;

/* So much of the processor is used in that time by what goes on, where other programs keep the machine busy. */
static inline uint64_t hwi_conform_least_ns(unsigned seconds)
{
  const uint64_t second_ns = 1000000000;
  enum { LEAST_SHARE = 200 };
  return seconds * second_ns / LEAST_SHARE;
}

/* The same for a child by fork, whose time begins now: SIGALRM ends it when it hangs. */
void hwi_conform_limit(unsigned seconds);

/* The same pointer, of which the compiler knows nothing: neither its alignment nor that it is new. */
static inline void *seen(void *block)
{
  __asm__ volatile("" : "+r"(block) : : "memory");
  return block;
}

static inline bool is_aligned(const void *block, size_t align)
{
  return ((uintptr_t)block & (align - 1)) == 0;
}

/* Bytes that depend on `seed` and on where they stand. */
void hwi_pattern_fill(void *block, size_t bytes, uint32_t seed);
/* The index of the first byte that is not so; `bytes`: none. */
size_t hwi_pattern_check(const void *block, size_t bytes, uint32_t seed);
size_t hwi_zero_check(const void *block, size_t bytes);

/* Of this process. Ends it where that cannot be known. */
size_t hwi_resident_bytes(void);

/* A stream of numbers; *state is not 0 and the caller's. */
uint32_t hwi_random(uint32_t *state);

/* Mostly small, sometimes up to `max`. At least 1. */
size_t hwi_random_size(uint32_t *state, size_t max);

#endif
