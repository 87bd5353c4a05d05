/* entries_marks.h - how the test programs call entries_double.c, if it is preloaded */
#ifndef ENTRIES_MARKS_H
#define ENTRIES_MARKS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif
void entries_begin(void) __attribute__((weak));
void entries_end(void) __attribute__((weak));
void entries_caller(void *function, void *frame_low, void *frame_high) __attribute__((weak));
void *entries_boot_block(size_t size) __attribute__((weak));
void entries_foreign(void) __attribute__((weak));
#ifdef __cplusplus
}
#endif

/* Reports of calls between these two are written down. */
#define MARKED(...)    \
  do {                 \
    if (entries_begin) \
      entries_begin(); \
    __VA_ARGS__;       \
    if (entries_end)   \
      entries_end();   \
  } while (0)

#endif
