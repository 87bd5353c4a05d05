/* record.h - what the entry points tell the recorder
 *
 * The entry points (entries.c) call the real allocator themselves and report here. All functions are async-signal-safe,
 * never block, never fail visibly, keep errno, and may be called before main, in destructors and in any thread; where an
 * event cannot be kept, it is counted as lost.
 */
#ifndef HWI_RECORD_RECORD_H
#define HWI_RECORD_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heapwright/detail/entry_list.h"

/* The frame that called the entry point. */
struct hwi_caller {
  uintptr_t pc; /* return address into the caller */
  uintptr_t sp; /* the caller's stack pointer behind the call: one word above the return address */
  uintptr_t bp; /* the caller's frame pointer register */
};

/* To be used in the entry point itself, which then has a frame of its own. */
#define HWI_CALLER()                                                                  \
  ((struct hwi_caller){((uintptr_t *)__builtin_frame_address(0))[1],                  \
                       (uintptr_t)__builtin_frame_address(0) + 2 * sizeof(uintptr_t), \
                       ((uintptr_t *)__builtin_frame_address(0))[0]})

/* After the real allocator gave out `block` (not NULL). `align` is what the caller asked for, or 0 where the entry point
 * has no such parameter. */
void hwi_record_alloc(const struct hwi_caller *caller, enum hw_entry entry, size_t size, size_t align, void *block);

/* Before the real free of `block` (not NULL). `caller_pc` only tells whether the dynamic loader is calling. */
void hwi_record_free(uintptr_t caller_pc, enum hw_entry entry, void *block);

/* Before a real realloc: its tick, to be handed to hwi_record_realloc. */
uint64_t hwi_record_realloc_begin(void);

/* A realloc that gave out a block for another, maybe the same one. */
struct hwi_realloc {
  enum hw_entry entry;
  uint64_t began; /* tick */
  uintptr_t old;  /* address of the block that is gone; not 0 */
  void *block;    /* not NULL */
  size_t size;    /* that was asked for */
};

/* After the real realloc returned. */
void hwi_record_realloc(const struct hwi_caller *caller, const struct hwi_realloc *call);

/* After the real allocator returned NULL because it had no memory (or refused the arguments). */
void hwi_record_failed(const struct hwi_caller *caller, enum hw_entry entry, size_t size, size_t align);

/* Where calls are timed (timed.h): the event clock, in its units, which neither earlier nor later instructions overtake. */
uint64_t hwi_record_clock_in_order(void);

/* After the real free of `block`, which was told by hwi_record_free: how long it took, as an event has it. */
void hwi_record_freed(const void *block, uint64_t took);

/* The calling thread is called `name` now (cut at 15 bytes). Unlike the rest it is no event: none is lost by it, and no recording
 * begins for it, which asks for the first thread's name itself. */
void hwi_record_thread_name(const char *name);

/* The program is about to forbid the TSC (PR_SET_TSC), so that none is to be read any more. */
void hwi_record_before_tsc_is_forbidden(void);

/* The calling thread is about to enter strict seccomp, where each look at the time and nearly every system call kills; and has done so,
 * or could not. Between the two no other function of the recorder is called but by handlers. */
void hwi_record_before_seal(void);
void hwi_record_after_seal(bool is_sealed);

/* dlclose returned: a library may be gone. */
void hwi_record_unloaded(void);

#endif
