/* redirected.c - the functions whose calls are redirected */
#include "record/runtime/redirected.h"

static struct hwi_redirected redirected[HWI_REDIRECTED_MAX];
static uint32_t redirected_count;

uint32_t hwi_redirected_count(void)
{
  return redirected_count;
}

const struct hwi_redirected *hwi_redirected_at(uintptr_t address)
{
  for (uint32_t i = 0; i < redirected_count; i++)
    if (redirected[i].address == address)
      return &redirected[i];
  return NULL;
}

struct hwi_redirected *hwi_redirected_place(uint32_t number)
{
  return &redirected[redirected_count + number];
}

void hwi_redirected_add(uint32_t count)
{
  redirected_count += count;
}
