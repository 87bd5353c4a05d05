/* sanitizers.h - programs that are built with a sanitizer whose runtime has a malloc of its own */
#ifndef HWI_RECORD_SANITIZERS_H
#define HWI_RECORD_SANITIZERS_H

#include <stdbool.h>

/* Leaves such a program alone: executes it again, as it was, without this library. Returns where there is no such runtime, or
 * where that cannot be done; the latter is true, and nothing must be recorded. To be called before the program's own code
 * runs. */
bool hwi_sanitizers_leave(void);

#endif
