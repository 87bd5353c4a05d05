/* recode.h - the events of consecutive chunks as columns and back, without loss (codec 1 of a section)
 *
 * See recode_model.h for the idea and docs/trace-format.md for the bytes.
 */
#ifndef HWI_TRACE_RECODE_H
#define HWI_TRACE_RECODE_H

#include <stddef.h>
#include <stdint.h>

#include "trace/recode_columns.h"

enum { HWI_RECODE_MAX_BYTES = 4 << 20 }; /* of plain chunks: bounds what unpacking needs */

struct hwi_recoder;

/* NULL: no memory. Keeps its tables between calls. */
struct hwi_recoder *hwi_recoder_create(void);
void hwi_recoder_destroy(struct hwi_recoder *recoder);

/* Fills *out with the columns of `plain` (chunk headers and events, as in hwi_pack_chunks). HW_ERR_DAMAGED: not every byte
 * is as the recorder writes it, so that it could not be restored; HW_ERR_LIMIT: too large; HW_ERR_MEMORY. */
int hwi_recode(struct hwi_recoder *recoder, const uint8_t *plain, size_t bytes, struct hwi_columns_out *out);

/* Restores exactly `bytes` of chunks at `plain`, which has HWI_RESTORE_SLACK bytes more. Every byte of the columns is hostile.
 * HW_ERR_DAMAGED or HW_ERR_MEMORY. */
enum { HWI_RESTORE_SLACK = 256 };
int hwi_restore(struct hwi_columns_in *in, uint8_t *plain, size_t bytes);

#endif
