/* record.h - the events that the entry points report to the recorder
 *
 * The entry points (entries.c) call the real allocator themselves and report here. All functions are async-signal-safe,
 * never block, never fail visibly, do not change errno, and may be called before main, in destructors and in any
 * thread. An event that cannot be recorded is counted as lost.
 */
#ifndef HWI_RECORD_RECORD_H
#define HWI_RECORD_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heapwright/detail/entry_list.h"
#include "platform/arch.h"

/* The frame that called the entry point. */
struct hwi_caller {
  uintptr_t pc; /* return address into the caller */
  uintptr_t sp; /* the caller's stack pointer after the call */
  uintptr_t bp; /* the caller's frame pointer register */
};

/* Returns the caller of the function that uses it: the entry point itself, which then has its own frame. */
#define HWI_CALLER() ((struct hwi_caller){HWI_ARCH_CALLER_PC(), HWI_ARCH_CALLER_SP(), HWI_ARCH_CALLER_BP()})

/* To be called after the real allocator returned `block` (not NULL). `align` is the requested alignment, or 0 if the
 * entry point has no such parameter. */
void hwi_record_alloc(const struct hwi_caller *caller, enum hw_entry entry, size_t size, size_t align, void *block);

/* To be called before the real free of `block` (not NULL). `caller_pc` is only used to detect calls of the dynamic
 * loader. */
void hwi_record_free(uintptr_t caller_pc, enum hw_entry entry, void *block);

/* To be called before a real realloc. Returns its tick, for the next functions; in a sample 0 if the old block's
 * allocation was no event. */
uint64_t hwi_record_realloc_begin(void *old);

/* To be called after a real realloc that failed. */
void hwi_record_realloc_failed(void *old, uint64_t began);

/* A realloc that returned a block instead of another one, or the same block. */
struct hwi_realloc {
  enum hw_entry entry;
  uint64_t began; /* tick */
  uintptr_t old;  /* address of the old block; not 0 */
  void *block;    /* not NULL */
  size_t size;    /* the requested size */
};

/* To be called after the real realloc returned. */
void hwi_record_realloc(const struct hwi_caller *caller, const struct hwi_realloc *call);

/* To be called after the real allocator returned NULL because it had no memory, or rejected the arguments. */
void hwi_record_failed(const struct hwi_caller *caller, enum hw_entry entry, size_t size, size_t align);

/* For timed calls (call_timer.h): returns the event clock, in its units, read after all earlier and before all later
 * instructions. */
uint64_t hwi_record_clock_in_order(void);

/* To be called after the real free of `block`, which hwi_record_free has reported, with its duration as in an event. */
void hwi_record_freed(const void *block, uint64_t took);

/* Reports the calling thread's new name (cut at 15 bytes). Unlike the other functions it reports no event: it causes no
 * loss and starts no recording. A recording that starts reads the first thread's name itself. */
void hwi_record_thread_name(const char *name);

/* The program is about to forbid the TSC (PR_SET_TSC): it must not be read any more. */
void hwi_record_before_tsc_is_forbidden(void);

/* The first function is called before the calling thread enters strict seccomp, where reading the clock and nearly
 * every system call kill the process. The second one is called afterwards; `is_sealed` is whether the thread entered
 * it. In between, only signal handlers call functions of the recorder. */
void hwi_record_before_seal(void);
void hwi_record_after_seal(bool is_sealed);

/* dlclose has returned: a library may be unloaded. */
void hwi_record_unloaded(void);

/* What the thread has done since the program first asked (hw_thread_counts). */
struct hwi_thread_counts {
  bool is_on;
  uint64_t allocation_calls, free_calls, failed_calls, allocated_bytes;
  int64_t net_bytes;    /* usable sizes of blocks allocated, less those of blocks freed */
  uint64_t moved_bytes; /* usable size of the old block of the realloc that is under way */
};

/* Returns what the calling thread has done since its first call of this function, which starts the counting. is_on is
 * false if nothing is recorded. */
struct hwi_thread_counts hwi_record_counts(void);

#endif
