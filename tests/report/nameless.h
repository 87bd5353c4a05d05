/* nameless.h - a source of names that finds none, so that a report needs no program file */
#ifndef HWI_TESTS_REPORT_NAMELESS_H
#define HWI_TESTS_REPORT_NAMELESS_H

#include "report/report.h"

static inline uint32_t nameless_find(void *context, const struct hwi_symbol_module *module, uint64_t address,
                                     bool is_return_address, const struct hwi_symbol **frames)
{
  static const struct hwi_symbol nameless = {.reason = HWI_SYMBOL_NO_FILE};
  (void)context, (void)module, (void)address, (void)is_return_address;
  *frames = &nameless;
  return 1;
}

static inline const char *nameless_allocator(const struct hwi_symbol_module *program)
{
  (void)program;
  return NULL;
}

static const struct hwi_names nameless_names = {nameless_find, NULL, nameless_allocator};

#endif
