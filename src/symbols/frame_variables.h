/* frame_variables.h - the local variables and parameters of a function that have a place in its frame
 *
 * Only places are read that are a distance from the frame's own addresses. Variables in registers, those that are computed, and
 * those that the compiler has split have none.
 */
#ifndef HWI_SYMBOLS_FRAME_VARIABLES_H
#define HWI_SYMBOLS_FRAME_VARIABLES_H

#include <elfutils/libdw.h>

#include "symbols/symbols.h"

/* What the unwinder knows of a frame. */
struct hwi_frame_bases {
  uint64_t cfa;                                        /* the stack pointer of the caller */
  uint64_t stack_pointer;                              /* in the function itself, where it goes on */
  uint64_t frame_pointer;                              /* the register of that name */
  bool has_frame_pointer;                              /* it is known */
  unsigned stack_pointer_number, frame_pointer_number; /* of these registers, in debug information */
};

struct hwi_frame_variable {
  const char *name; /* of the debug information; valid as long as the symbolizer */
  uint64_t address, bytes;
  Dwarf_Die die;
};

/* Calls `take` for each variable whose scope has the code at a run-time address of the module, until it returns false. Of two with
 * one name, the inner one comes last. */
void hwi_frame_variables(struct hwi_symbols *symbols, const struct hwi_symbol_module *module, uint64_t address,
                         const struct hwi_frame_bases *bases,
                         bool (*take)(void *context, const struct hwi_frame_variable *variable), void *context);

#endif
