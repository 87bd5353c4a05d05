/* lines.h - the frames at an address, from debug information */
#ifndef HWI_SYMBOLS_LINES_H
#define HWI_SYMBOLS_LINES_H

#include "symbols/dwarf_units.h"
#include "symbols/symbols.h"
#include "trace/store.h"

/* Frames of one address, innermost first. All zero is empty; the caller frees `list`. */
struct hwi_frame_list {
  struct hwi_symbol *list;
  size_t count, capacity;
};

/* Appends the inlined functions around `address` and the function itself. If there is a line but no function, appends
 * one frame with the line. Appends nothing if the debug information does not cover the address. */
void hwi_lines_find(struct hwi_frame_list *frames, struct hwi_dwarf_units *units, uint64_t address,
                    struct hwi_store *store);

#endif
