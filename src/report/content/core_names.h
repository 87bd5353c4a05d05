/* core_names.h - what is known of a block of a core dump: its type, and the stack that allocated it */
#ifndef HWI_REPORT_CONTENT_CORE_NAMES_H
#define HWI_REPORT_CONTENT_CORE_NAMES_H

#include "memory/heaps/recorded.h"
#include "memory/image/thread_frames.h"
#include "memory/image/thread_storage.h"
#include "memory/types/block_types.h"
#include "report/report.h"
#include "report/words/line.h"

/* Where that comes from. Pointers are borrowed. */
struct hwi_core_names {
  const struct hwi_core_heap *heap;
  struct hwi_block_types *types;
  struct hwi_thread_frames *threads;
  struct hwi_thread_storage *storage;
  const struct hwi_recorded_blocks *recorded;
  struct hwi_named_frames *frames; /* of the recording's profile; NULL: there is no recording */
};

/* Adds the name of the block's type, if it is known. Returns whether it is. */
bool hwi_core_names_type(const struct hwi_core_names *names, const struct hwi_core_block *block, struct hwi_line *line);

/* Adds the member that points to it, "name of struct person", if the type alone does not explain the block; and the variable from
 * which pointers lead to it. Return whether there is one. */
bool hwi_core_names_member(const struct hwi_core_names *names, const struct hwi_core_block *block,
                           struct hwi_line *line);
bool hwi_core_names_variable(const struct hwi_core_names *names, const struct hwi_core_block *block,
                             struct hwi_line *line);

/* Finds what is at a code address, innermost first: as hwi_symbols_find. *module is NULL if it is in none. Returns how many there are. */
uint32_t hwi_core_names_code(const struct hwi_core_names *names, uint64_t address, bool is_return,
                             const struct hwi_core_module **module, const struct hwi_symbol **symbols);

/* Returns the function with a code address, of which it may be what a call returns to, or NULL. */
const struct hwi_symbol *hwi_core_names_function(const struct hwi_core_names *names, uint64_t address, bool is_return);

/* Adds "main (app.c:7)". */
void hwi_core_function_add(struct hwi_line *line, const struct hwi_symbol *function);

/* Adds the innermost functions with names, "make (app.c:7) < main (app.c:30)", of a stack of return addresses. Returns whether there are
 * some. */
bool hwi_core_names_add_callers(const struct hwi_core_names *names, const uint64_t *addresses, size_t count,
                                struct hwi_line *line);

/* Adds the stack that allocated the block in a few words, if it was recorded, or is in front of the block. Returns whether it is
 * known. */
bool hwi_core_names_stack(const struct hwi_core_names *names, const struct hwi_core_block *block,
                          struct hwi_line *line);

#endif
