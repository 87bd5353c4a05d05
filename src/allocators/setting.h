/* setting.h - settings of the heap of a process, from the environment: those that are 1 or 0, and reports of wrong values */
#ifndef HWI_ALLOCATORS_SETTING_H
#define HWI_ALLOCATORS_SETTING_H

/* Returns the value of a variable, or NULL if it is not set. */
typedef const char *hwi_value_fn(const char *name);

/* Reports on stderr: NAME=VALUE, followed by `what`. */
void hwi_setting_report(const char *name, const char *value, const char *what);

/* Returns 1 or 0 according to the variable, or `otherwise` if it is not set, or has another value, which is reported. */
int hwi_flag_read(hwi_value_fn *value_of, const char *name, int otherwise);

#endif
