/* banned.h - makes the compiler refuse functions that cannot be used safely; forced into every C file by the build
 *
 * The headers that declare these functions are included first: a poisoned name must not occur after the pragma.
 */
#ifndef HWI_BASE_BANNED_H
#define HWI_BASE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#pragma GCC poison strcpy stpcpy strcat sprintf vsprintf /* no bound: snprintf, memcpy with a length */
#pragma GCC poison strncpy strncat                /* no NUL, or a length that is easily wrong: memcpy, snprintf */
#pragma GCC poison strtok                         /* hidden state: strtok_r, strcspn */
#pragma GCC poison gets                           /* no bound: fgets, getline */
#pragma GCC poison atoi atol atoll atof           /* no errors: strtoull */
#pragma GCC poison asctime ctime gmtime localtime /* hidden state: strftime with gmtime_r, localtime_r */
#pragma GCC poison tmpnam mktemp                  /* a race: mkstemp */

#endif
