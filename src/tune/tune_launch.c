/* tune_launch.c - prints the recommended pool as lines for the file that starts the program */
#include <inttypes.h>

#include "tune/tune.h"

#define LIBRARY "libheapwright-tlsf.so"

/* The texts of a form: at the start, before a variable's name, before its value, after the value, and at the end. */
struct form {
  const char *begin, *before_name, *before_value, *behind_value, *end;
};

static const struct form forms[] = {
    [HWI_LAUNCH_ENV] = {"", "", "=", "\n", ""},
    [HWI_LAUNCH_SHELL] = {"", "export ", "=", "\n", ""},
    [HWI_LAUNCH_XML] = {"", "<env name=\"", "\" value=\"", "\"/>\n", ""},
    [HWI_LAUNCH_PYTHON] = {"additional_env={", "\"", "\": \"", "\", ", "},\n"},
};

void hwi_tune_launch(const struct hwi_tune *tune, enum hwi_launch_form form, FILE *out)
{
  const struct form *as = &forms[form];
  fprintf(out, "%s%sLD_PRELOAD%s" LIBRARY "%s", as->begin, as->before_name, as->before_value, as->behind_value);
  fprintf(out, "%sHEAPWRIGHT_POOL_SIZE%s%" PRIu64 "%s%s", as->before_name, as->before_value,
          tune->processes->pool_bytes, as->behind_value, as->end);
}
