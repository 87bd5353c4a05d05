/* operators.h - operator new and delete where they are more than the real malloc and free
 *
 * Every operator has a mode, chosen when the real functions are found:
 *
 *   own      the standard's own loop over the real malloc, reported under the operator's entry. The usual case.
 *   foreign  a library behind us, which is neither the C++ runtime nor the one that malloc comes from, defines the operator.
 *            It is called and reported; the one malloc or free that it makes for this block is held back.
 *   aside    the next library's operator is called and nothing is reported: it leads to an operator that is.
 *
 * aside serves two cases. The program itself replaces an operator ahead of us: the standard lets it replace one and have
 * the others call that one, which only the C++ runtime's do. And in a family with a foreign operator those that the
 * foreign library does not define: the runtime's call ours for the one that it does.
 */
#ifndef HWI_RECORD_OPERATORS_H
#define HWI_RECORD_OPERATORS_H

#include <stdbool.h>
#include <stdint.h>

#include "record/real.h"
#include "record/record.h"

enum hwi_operator_mode { HWI_OPERATOR_OWN = 0, HWI_OPERATOR_FOREIGN, HWI_OPERATOR_ASIDE };

extern __attribute__((visibility("hidden"))) uint8_t hwi_operator_modes[HW_ENTRY_COUNT];

/* Some operator is foreign: mallocs and frees have to be asked for with hwi_operator_holds_*. */
extern __attribute__((visibility("hidden"))) bool hwi_operators_hold;

/* Chooses the modes. `next` are the real functions, before they are published. */
void hwi_operators_plan(hwi_function *const next[]);

/* A call of an operator new, with the arguments that its entry point has. */
struct hwi_new_call {
  struct hwi_caller caller;
  enum hw_entry entry;
  size_t size;
  size_t align;    /* 0: none */
  const void *tag; /* NULL: throws */
};

/* The rest of an operator new: the real malloc had no memory, or the mode is not own. Reports. Throws where that is the
 * operator's way to fail. */
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

/* An operator delete whose mode is not own. Reports. */
void hwi_operator_delete(const struct hwi_delete_call *call);

/* Whether the foreign operator that is running on this thread made this call for its own block, so that it is not to be
 * reported again. */
bool hwi_operator_holds_alloc(const struct hwi_caller *caller, enum hw_entry entry, size_t size, void *block);
bool hwi_operator_holds_free(uintptr_t caller_pc, void *block);

/* What the real allocator gives for an aligned operator new; NULL also where `align` is no power of two. */
void *hwi_operator_aligned_block(size_t align, size_t size);

#endif
