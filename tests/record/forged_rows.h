/* forged_rows.h - the row that unwinding takes for a forged function, for tests of cmocka whose state is a forged module */
#ifndef TESTS_FORGED_ROWS_H
#define TESTS_FORGED_ROWS_H

#include "cfi_forged.h"

static int setup(void **state)
{
  static struct forged forged;
  *state = &forged;
  return forged_init(&forged) ? 0 : -1;
}

static int teardown(void **state)
{
  forged_release(*state);
  return 0;
}

static struct hwi_frame_row row_of(struct forged *forged, const char *letters, const uint8_t *code, size_t size)
{
  forged_function(forged, letters, code, size);
  return hwi_cfi_row(&forged->module, forged_start(forged), NULL);
}

/* The row of a function whose instructions are these bytes; `forged` is the module. */
#define ROW(...) row_of(forged, "zR", (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

#endif
