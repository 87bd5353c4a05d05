/* suppressing.c - the option --suppressions of commands that examine unfreed blocks at the end */
#include "cli/suppressing.h"

int hwi_suppressing_check(const char *path, bool leaks)
{
  if (!path || leaks)
    return 0;
  return hwi_fail(HWI_EXIT_TROUBLE, "--suppressions is about unfreed blocks: add --leaks");
}

int hwi_suppressing_begin(struct hwi_suppressions *suppressions, const char *path)
{
  *suppressions = (struct hwi_suppressions){0};
  struct hwi_error error = {0};
  if (!path || hwi_suppressions_read(suppressions, path, &error) == HW_OK)
    return 0;
  return hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text);
}

void hwi_suppressing_end(struct hwi_suppressions *suppressions, bool used)
{
  for (size_t i = 0; used && i < suppressions->count; i++) {
    const struct hwi_suppression *item = &suppressions->items[i];
    if (item->stacks == 0)
      hwi_warn("%s, line %u: leak:%s matches no leak%s", suppressions->path, item->line, item->pattern,
               item->is_late ? " that an earlier line does not match" : "");
  }
  hwi_suppressions_release(suppressions);
}
