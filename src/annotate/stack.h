/* stack.h - the stack of a caller of malloc, as a number in the table of stacks of annotate.h
 *
 * row     how to step outward from a frame, for the pc where it continues (record/unwind/cfi.h).
 * word    of the stack, which a walk loaded: a return address, or a frame pointer that a later step used.
 * memo    a stack that a thread has walked, and its words. The course of a walk depends on the first frame's pc, sp and bp and
 *         on these words alone: if all are unchanged, so is the stack.
 */
#ifndef HWI_ANNOTATE_STACK_H
#define HWI_ANNOTATE_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "record/unwind/range.h"

enum {
  HWI_ANNOTATE_FRAMES_MAX = 64,
  HWI_MEMOS = 128, /* of a thread */
  HWI_STACK_WORDS_AT_ONCE = 4,
};

struct hwi_stack_word {
  uintptr_t address, value;
};

struct hwi_stack_memo {
  uintptr_t pc, sp, bp;
  uint32_t stack;
  uint16_t word_count; /* a multiple of HWI_STACK_WORDS_AT_ONCE: the last one may be repeated */
  bool needs_bp;       /* a step used the first frame's bp */
  struct hwi_stack_word words[];
};

/* A thread's own memory, zeroed at first. */
struct hwi_stack_thread;

extern __attribute__((visibility("hidden"))) __thread struct hwi_stack_thread *hwi_stack_self
    __attribute__((tls_model("initial-exec")));

/* To be called once, before all else: stacks have at most so many frames. */
void hwi_stack_init(unsigned frames);

void hwi_stack_thread_begin(void);
void hwi_stack_thread_end(void);

/* A module was unloaded. */
void hwi_stack_forget_code(void);

/* Returns the number of the stack that begins with that frame, the caller of an entry point; 0: it is not known. */
uint32_t hwi_stack_walk(uintptr_t pc, uintptr_t sp, uintptr_t bp);

/* Replaces the registers of a frame by its caller's, by call frame information. Returns false if that is not possible. */
bool hwi_stack_step(uintptr_t *pc, uintptr_t *sp, uintptr_t *bp);

/* Stores the stack in the table. Defined by library.c. */
uint32_t hwi_stack_number(const uintptr_t *frames, uint32_t count);

/* --- the memos, in full: they are on the hot path --- */

struct hwi_stack_thread {
  struct hwi_range range; /* of the stack */
  uint32_t epoch;         /* of the rows and memos */
  struct hwi_stack_row *rows;
  unsigned char memos[] __attribute__((aligned(16)));
};

extern __attribute__((visibility("hidden"))) uint32_t hwi_stack_epoch, hwi_stack_memo_log2;

static inline struct hwi_stack_memo *hwi_stack_memo(struct hwi_stack_thread *self, uintptr_t pc, uintptr_t sp)
{
  const uintptr_t place = (pc ^ sp >> 4 ^ sp >> 12) & (HWI_MEMOS - 1);
  return (struct hwi_stack_memo *)(self->memos + (place << hwi_stack_memo_log2));
}

/* Returns the thread's memo for the stack that begins there, or NULL. It is that of the stack if hwi_stack_is_same. */
static inline const struct hwi_stack_memo *hwi_stack_memo_of(uintptr_t pc, uintptr_t sp, uintptr_t bp)
{
  struct hwi_stack_thread *self = hwi_stack_self;
  if (__builtin_expect(!self, 0))
    return NULL;
  const struct hwi_stack_memo *memo = hwi_stack_memo(self, pc, sp);
  const bool is_there =
      memo->pc == pc && memo->sp == sp && (memo->bp == bp || !memo->needs_bp) && self->epoch == hwi_stack_epoch;
  return __builtin_expect(is_there, 1) ? memo : NULL;
}

static inline uintptr_t hwi_stack_difference(const struct hwi_stack_word *word)
{
  return *(const volatile uintptr_t *)word->address ^ word->value;
}

static inline bool hwi_stack_is_same(const struct hwi_stack_memo *memo)
{
  const struct hwi_stack_word *word = memo->words, *end = word + memo->word_count;
  for (; word < end; word += HWI_STACK_WORDS_AT_ONCE)
    if (hwi_stack_difference(&word[0]) | hwi_stack_difference(&word[1]) | hwi_stack_difference(&word[2]) |
        hwi_stack_difference(&word[3]))
      return false;
  return true;
}

static inline __attribute__((always_inline)) uint32_t hwi_stack_of(uintptr_t pc, uintptr_t sp, uintptr_t bp)
{
  const struct hwi_stack_memo *memo = hwi_stack_memo_of(pc, sp, bp);
  return memo && hwi_stack_is_same(memo) ? memo->stack : hwi_stack_walk(pc, sp, bp);
}

#endif
