/* core_crash.h - how a signal ended a process: what the thread did that got it, where, and which address explains it
 *
 * raising frames  the innermost frames of a stack in which only the signal is raised: raise, abort, __assert_fail, std::terminate,
 *                 and what these call.
 * address         by which --around explains the crash: the one that was accessed, if it can be one; else that of damage, if the
 *                 C library aborted or failed; else one that refers to a block: in a register, or in the innermost frame.
 */
#ifndef HWI_REPORT_CONTENT_CORE_CRASH_H
#define HWI_REPORT_CONTENT_CORE_CRASH_H

#include "report/content/core_names.h"

enum hwi_crash_cause {
  HWI_CRASH_SIGNAL = 0,  /* another one, or it is not known */
  HWI_CRASH_ACCESS,      /* to an address */
  HWI_CRASH_NULL,        /* to an address near 0 */
  HWI_CRASH_OVERFLOW,    /* to an address at the end of its stack */
  HWI_CRASH_NO_ADDRESS,  /* to an address that no pointer can have; x86-64 does not say which one */
  HWI_CRASH_FILE_END,    /* to an address at which a file is mapped that is shorter */
  HWI_CRASH_JUMP,        /* to an address without code: it called one */
  HWI_CRASH_HALT,        /* it executed hlt, which only the kernel may */
  HWI_CRASH_MUSL,        /* likewise, by which musl's C library aborts */
  HWI_CRASH_DIVISION,    /* of integers */
  HWI_CRASH_INSTRUCTION, /* an invalid one */
  HWI_CRASH_ABORT,
  HWI_CRASH_ASSERTION,
  HWI_CRASH_EXCEPTION, /* nothing caught it */
  HWI_CRASH_TERMINATE, /* it called std::terminate */
  HWI_CRASH_CAUSES,
};

/* For JSON. */
extern const char *const hwi_crash_cause_names[HWI_CRASH_CAUSES];

/* Where the address was found. */
enum hwi_crash_source {
  HWI_CRASH_FROM_NOWHERE = 0, /* no address is known */
  HWI_CRASH_FROM_ACCESS,
  HWI_CRASH_FROM_DAMAGE,
  HWI_CRASH_FROM_REGISTER,
  HWI_CRASH_FROM_STACK,
};

struct hwi_core_crash {
  bool is_known; /* a signal ended the process, and its threads are known: the first one got it */
  enum hwi_crash_cause cause;
  const struct hwi_thread_stack *stack; /* of the thread; NULL: it has no known frames */
  size_t first;                         /* frame behind the raising ones */
  enum hwi_crash_source source;
  uint64_t address;
  const struct hwi_damage *damage; /* FROM_DAMAGE */
  unsigned reg;                    /* FROM_REGISTER */
  uint64_t at;                     /* FROM_STACK: the word */
};

void hwi_core_crash_find(struct hwi_core_crash *crash, const struct hwi_core_names *names);

/* Returns the end of the frames that are worth a line: without those of the C library that start a program or a thread. */
size_t hwi_core_crash_shown_end(const struct hwi_core_crash *crash, const struct hwi_core_names *names);

/* Returns the function in which the thread is, or NULL. */
const struct hwi_symbol *hwi_core_crash_function(const struct hwi_core_crash *crash,
                                                 const struct hwi_core_names *names);

/* Adds what the thread did: "accessed 0x18, near 0: a null pointer was followed". */
void hwi_core_crash_add_cause(struct hwi_line *line, const struct hwi_core_crash *crash,
                              const struct hwi_memory *memory);

#endif
