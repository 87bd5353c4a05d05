/* error.h - the only list of error codes, and the error texts of the tools
 *
 * Functions return 0 (or a count) on success, and one of these negative values on failure. Functions of the tools that
 * can give more details fill a `struct hwi_error`. Nothing in the target uses this file.
 */
#ifndef HWI_BASE_ERROR_H
#define HWI_BASE_ERROR_H

#include <stdint.h>

enum hw_status {
  HW_OK = 0,
  HW_ERR_IO = -1,          /* a system call failed; errno is in `os_error` */
  HW_ERR_MEMORY = -2,      /* no memory */
  HW_ERR_NOT_A_TRACE = -3, /* the file does not begin like a trace */
  HW_ERR_VERSION = -4,     /* made by a newer heapwright */
  HW_ERR_DAMAGED = -5,     /* bytes that the format forbids; `offset` is their position */
  HW_ERR_USAGE = -6,       /* the request of the caller or the user is invalid */
  HW_ERR_LIMIT = -7,       /* a bound was reached */
  HW_ERR_EXISTS = -8,      /* would overwrite a file that is not ours */
  HW_ERR_BUSY = -9,        /* a trace that is still being written */
};

enum { HWI_ERROR_TEXT_BYTES = 512 };

struct hwi_error {
  int status;                      /* enum hw_status */
  int os_error;                    /* errno of the failed call, or 0 */
  uint64_t offset;                 /* in the file, if `status` is HW_ERR_DAMAGED */
  char text[HWI_ERROR_TEXT_BYTES]; /* a whole sentence for the user: what, where, and what to do. No newline */
};

/* Fills *error (`error` may be NULL) and returns status. If status is HW_ERR_IO, errno is stored as `os_error`.
 * Thread-safe. */
int hwi_error_set(struct hwi_error *error, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The same, with the offset in the file. */
int hwi_error_set_at(struct hwi_error *error, int status, uint64_t offset, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Returns a short text for a status, for callers without a `struct hwi_error`. Never NULL. */
const char *hwi_status_text(int status);

#endif
