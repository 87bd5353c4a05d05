/* sanitizers.h - programs that are built with a sanitizer whose runtime has its own malloc */
#ifndef HWI_RECORD_RUNTIME_SANITIZERS_H
#define HWI_RECORD_RUNTIME_SANITIZERS_H

#include <stdbool.h>

/* Does not record such a program: executes it again, unchanged, without this library. Returns false if there is no such
 * runtime. Returns true if there is one but the program could not be executed again; then nothing must be recorded. To
 * be called before the program's own code runs. */
bool hwi_sanitizers_leave(void);

#endif
