/* nvtx_texts.h - names and numbers in the calls of NVTX
 *
 * All functions are async-signal-safe and do not change errno.
 */
#ifndef HWI_RECORD_COLLECTORS_NVTX_TEXTS_H
#define HWI_RECORD_COLLECTORS_NVTX_TEXTS_H

#include <stdbool.h>

#include "record/collectors/nvtx_abi.h"

enum { HWI_WIDE_TEXT_BYTES = 1024 };

/* Writes the wide text as UTF-8, with a NUL. It is cut at a character where `room` ends. */
void hwi_wide_to_utf8(char *to, size_t room, const wchar_t *text);

/* Return the number of a name (scope_names.h), or `otherwise` if there is none. A wide text is cut after
 * HWI_WIDE_TEXT_BYTES. */
uint32_t hwi_nvtx_name(const char *text, uint32_t otherwise);
uint32_t hwi_nvtx_wide_name(const wchar_t *text, uint32_t otherwise);

/* Returns the number of the event's message. */
uint32_t hwi_nvtx_message(const struct hwi_nvtx_event *event, uint32_t otherwise);

/* Returns whether the event has a payload that is a whole number from 0 on, which is then in *number. Otherwise
 * *number stays. */
bool hwi_nvtx_payload(const struct hwi_nvtx_event *event, uint64_t *number);

#endif
