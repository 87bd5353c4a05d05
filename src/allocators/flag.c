/* flag.c - a setting of the heap of a process that is 1 or 0, from the environment */
#include "allocators/flag.h"

#include "allocators/message.h"

int hwi_flag_read(const char *(*value_of)(const char *name), const char *name, int otherwise)
{
  const char *value = value_of(name);
  if (!value || !*value)
    return otherwise;
  if ((*value == '0' || *value == '1') && !value[1])
    return *value - '0';
  struct hwi_message line;
  hwi_message_begin(&line);
  hwi_message_text(&line, name);
  hwi_message_text(&line, "=");
  hwi_message_text(&line, value);
  hwi_message_text(&line, " is neither 0 nor 1");
  hwi_message_print(&line);
  return otherwise;
}
