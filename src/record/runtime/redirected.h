/* redirected.h - the functions whose calls are redirected
 *
 * The list only grows, when a recording begins, before other threads run.
 */
#ifndef HWI_RECORD_RUNTIME_REDIRECTED_H
#define HWI_RECORD_RUNTIME_REDIRECTED_H

#include "record/runtime/linked_functions.h"
#include "record/runtime/real.h"

enum { HWI_REDIRECTED_MAX = 256 };

/* The functions of one allocator. */
struct hwi_family {
  hwi_usable_size_fn *usable_size; /* NULL: it has none */
};

struct hwi_redirected {
  uintptr_t address;
  hwi_function *original; /* does what the function did */
  const struct hwi_family *family;
  const struct hwi_shape *shape;
};

uint32_t hwi_redirected_count(void);

/* Returns the redirected function that begins at this address, or NULL. */
const struct hwi_redirected *hwi_redirected_at(uintptr_t address);

/* Return the place of the `number`th function after the present ones, and add `count` functions that are in these places. */
struct hwi_redirected *hwi_redirected_place(uint32_t number);
void hwi_redirected_add(uint32_t count);

#endif
