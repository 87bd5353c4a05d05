/* launch_lines.c - a library to preload and its setting as lines for the file that starts a program */
#include "tune/launch_lines.h"

/* The texts of a form: at the start, before a variable's name, before its value, after the value, and at the end. */
struct form {
  const char *begin, *before_name, *before_value, *after_value, *end;
};

static const struct form forms[] = {
    [HWI_LAUNCH_ENV] = {"", "", "=", "\n", ""},
    [HWI_LAUNCH_SHELL] = {"", "export ", "=", "\n", ""},
    [HWI_LAUNCH_XML] = {"", "<env name=\"", "\" value=\"", "\"/>\n", ""},
    [HWI_LAUNCH_PYTHON] = {"additional_env={", "\"", "\": \"", "\", ", "},\n"},
};

static void write_one(const struct form *as, const char *variable, const char *value, FILE *out)
{
  fprintf(out, "%s%s%s%s%s", as->before_name, variable, as->before_value, value, as->after_value);
}

void hwi_launch_lines_write(enum hwi_launch_form form, const char *library, const char *variable, const char *value,
                            FILE *out)
{
  const struct form *as = &forms[form];
  fputs(as->begin, out);
  write_one(as, "LD_PRELOAD", library, out);
  write_one(as, variable, value, out);
  fputs(as->end, out);
}
