/* operators.h - operator new and delete in the cases that need more than the real malloc and free
 *
 * Every operator has a mode, chosen when the real functions are found:
 *
 *   own      the standard's own loop over the real malloc, reported under the operator's entry. The usual case.
 *   foreign  a library after us, which is neither the C++ runtime nor the one that malloc comes from, defines the
 *            operator. It is called and reported; the one malloc or free that it calls for this block is not reported.
 *   aside    the next library's operator is called and nothing is reported: it leads to an operator that is.
 *
 * aside is for two cases. First, the program itself replaces an operator: the standard lets it replace one operator,
 * and the others then call that one, but only the C++ runtime's operators do so. Second, in a family with a foreign
 * operator, the operators that the foreign library does not define: the runtime's definitions call our entry point of
 * the foreign operator.
 */
#ifndef HWI_RECORD_RUNTIME_OPERATORS_H
#define HWI_RECORD_RUNTIME_OPERATORS_H

#include <stdbool.h>
#include <stdint.h>

#include "record/record.h"
#include "record/runtime/real.h"

enum hwi_operator_mode { HWI_OPERATOR_OWN = 0, HWI_OPERATOR_FOREIGN, HWI_OPERATOR_ASIDE };

extern __attribute__((visibility("hidden"))) uint8_t hwi_operator_modes[HW_ENTRY_COUNT];

/* Some operator is foreign: each malloc and free must be checked with hwi_operator_holds_*. */
extern __attribute__((visibility("hidden"))) bool hwi_operators_hold;

/* Chooses the modes. `next` are the real functions, before they are published. */
void hwi_operators_plan(hwi_function *const next[]);

/* A call of an operator new, with the arguments of its entry point. */
struct hwi_new_call {
  struct hwi_caller caller;
  enum hw_entry entry;
  size_t size;
  size_t align;    /* 0: none */
  const void *tag; /* NULL: the operator throws */
};

/* The slow path of an operator new: the real malloc had no memory, or the mode is not own. Reports the allocation.
 * Throws on failure if the operator does. */
void *hwi_operator_new(const struct hwi_new_call *call);

/* A call of an operator delete of a block that is not NULL. */
struct hwi_delete_call {
  uintptr_t caller_pc;
  enum hw_entry entry;
  void *block;
  size_t size;
  size_t align;
  const void *tag;
};

/* Runs an operator delete whose mode is not own, and reports the free. */
void hwi_operator_delete(const struct hwi_delete_call *call);

/* Return whether the foreign operator that is running on this thread made this allocation or free for its own block, so
 * that the call must not be reported again. */
bool hwi_operator_holds_alloc(const struct hwi_caller *caller, enum hw_entry entry, size_t size, void *block);
bool hwi_operator_holds_free(uintptr_t caller_pc, void *block);

/* Returns the real allocator's block for an aligned operator new, or NULL, also if `align` is not a power of two. */
void *hwi_operator_aligned_block(size_t align, size_t size);

#endif
