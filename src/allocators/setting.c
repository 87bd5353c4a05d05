/* setting.c - settings of the heap of a process, from the environment: those that are 1 or 0, and reports of wrong values */
#include "allocators/setting.h"

#include "allocators/message.h"

void hwi_setting_report(const char *name, const char *value, const char *what)
{
  struct hwi_message line;
  hwi_message_begin(&line);
  hwi_message_text(&line, name);
  hwi_message_text(&line, "=");
  hwi_message_text(&line, value);
  hwi_message_text(&line, what);
  hwi_message_print(&line);
}

int hwi_flag_read(hwi_value_fn *value_of, const char *name, int otherwise)
{
  const char *value = value_of(name);
  if (!value || !*value)
    return otherwise;
  if ((*value == '0' || *value == '1') && !value[1])
    return *value - '0';
  hwi_setting_report(name, value,
                     otherwise == 0   ? " is neither 0 nor 1; 0 is used"
                     : otherwise == 1 ? " is neither 0 nor 1; 1 is used"
                                      : " is neither 0 nor 1; the default of this setting is used");
  return otherwise;
}
