/* operator_plan.c - which operators new and delete use our own loop over malloc, and which are another library's */
#include "record/runtime/operator_plan.h"

#include <stddef.h>
#include <string.h>

#include "platform/os.h"

uint8_t hwi_operator_modes[HW_ENTRY_COUNT];
bool hwi_operators_hold;

static enum hw_entry base_of(enum hw_entry entry)
{
  switch (entry) {
  case HW_ENTRY_NEW:
  case HW_ENTRY_NEW_ARRAY:
  case HW_ENTRY_NEW_NOTHROW:
  case HW_ENTRY_NEW_ARRAY_NOTHROW:
    return HW_ENTRY_NEW;
  case HW_ENTRY_NEW_ALIGNED:
  case HW_ENTRY_NEW_ARRAY_ALIGNED:
  case HW_ENTRY_NEW_ALIGNED_NOTHROW:
  case HW_ENTRY_NEW_ARRAY_ALIGNED_NOTHROW:
    return HW_ENTRY_NEW_ALIGNED;
  case HW_ENTRY_DELETE:
  case HW_ENTRY_DELETE_ARRAY:
  case HW_ENTRY_DELETE_NOTHROW:
  case HW_ENTRY_DELETE_ARRAY_NOTHROW:
  case HW_ENTRY_DELETE_SIZED:
  case HW_ENTRY_DELETE_ARRAY_SIZED:
    return HW_ENTRY_DELETE;
  default:
    return HW_ENTRY_DELETE_ALIGNED;
  }
}

/* Which module defines a function, as far as it matters here. */
enum definer { DEFINED_NOWHERE, DEFINED_BY_RUNTIME, DEFINED_WITH_MALLOC, DEFINED_ELSEWHERE };

static bool is_runtime(const char *path)
{
  static const char names[][16] = {"libstdc++.so", "libc++.so", "libc++abi.so", "libcxxrt.so"};
  const char *base = path;
  for (; *path; path++)
    if (*path == '/')
      base = path + 1;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!strncmp(base, names[i], strlen(names[i])))
      return true;
  return false;
}

static enum definer definer_of(hwi_function *const next[], enum hw_entry entry)
{
  struct hwi_os_module module, malloc_module;
  if (!next[entry] || !hwi_os_find_module((uintptr_t)next[entry], &module))
    return DEFINED_NOWHERE;
  if (hwi_os_find_module((uintptr_t)next[HW_ENTRY_MALLOC], &malloc_module) && malloc_module.start == module.start)
    return DEFINED_WITH_MALLOC;
  return is_runtime(module.path) ? DEFINED_BY_RUNTIME : DEFINED_ELSEWHERE;
}

static enum hwi_operator_mode mode_of(hwi_function *const next[], enum hw_entry entry, bool operators_ahead,
                                      bool malloc_ahead)
{
  enum definer definer = definer_of(next, entry);
  if (definer == DEFINED_NOWHERE)
    return HWI_OPERATOR_OWN;
  if (operators_ahead)
    return HWI_OPERATOR_ASIDE;
  if (definer == DEFINED_ELSEWHERE)
    return HWI_OPERATOR_FOREIGN;
  if (definer == DEFINED_WITH_MALLOC)
    return HWI_OPERATOR_OWN;
  if (malloc_ahead) /* the runtime's operator calls the program's malloc, which we do not see */
    return entry == base_of(entry) ? HWI_OPERATOR_FOREIGN : HWI_OPERATOR_ASIDE;
  return definer_of(next, base_of(entry)) == DEFINED_ELSEWHERE ? HWI_OPERATOR_ASIDE : HWI_OPERATOR_OWN;
}

static bool is_ahead(enum hw_entry entry)
{
  return hwi_os_symbol_ahead(hwi_real_symbol(entry));
}

void hwi_operators_plan(hwi_function *const next[])
{
  bool malloc_ahead = is_ahead(HW_ENTRY_MALLOC), operators_ahead = false, some_hold = false;
  for (int entry = HW_ENTRY_NEW; entry < HW_ENTRY_COUNT; entry++)
    operators_ahead |= next[entry] && is_ahead(entry);
  for (int entry = HW_ENTRY_NEW; entry < HW_ENTRY_COUNT; entry++) {
    hwi_operator_modes[entry] = mode_of(next, entry, operators_ahead, malloc_ahead);
    some_hold |= hwi_operator_modes[entry] == HWI_OPERATOR_FOREIGN;
  }
  hwi_operators_hold = some_hold;
}
