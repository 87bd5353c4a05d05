/* thread_local.h - thread-local variables of code that may be in a module that is closed
 *
 * When a module is closed, glibc takes all the room for its thread-local variables back only if the module was the last
 * one that was loaded, and, on x86-64, if their length is a multiple of their alignment. So each variable is aligned to
 * 8 bytes, and a flag has 8 bytes, too; and since compilers align large variables to 16 bytes, all those of general heaps
 * together have a multiple of 16.
 */
#ifndef HWI_BASE_THREAD_LOCAL_H
#define HWI_BASE_THREAD_LOCAL_H

#include <stdint.h>

#define HWI_THREAD_LOCAL __thread __attribute__((tls_model("initial-exec"), aligned(8)))

typedef uint64_t hwi_thread_flag; /* 0 or 1 */

#endif
