/* texts.h - all values of an option that may be given several times */
#ifndef HWI_BASE_TEXTS_H
#define HWI_BASE_TEXTS_H

#include <stddef.h>

enum { HWI_TEXTS_MAX = 64 };

struct hwi_texts {
  const char *items[HWI_TEXTS_MAX]; /* not owned; mostly parts of argv */
  size_t count;
};

#endif
