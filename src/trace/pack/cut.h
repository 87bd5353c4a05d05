/* cut.h - packs a part of a piece again: without chunks that are known already, and without events after a moment */
#ifndef HWI_TRACE_PACK_CUT_H
#define HWI_TRACE_PACK_CUT_H

#include "trace/pack/pack.h"

/* Recodes the part of a loaded piece; it can be loaded only once. *section describes the piece, and then the columns.
 * Returns 0, HW_ERR_DAMAGED or HW_ERR_LIMIT if columns cannot represent these chunks, or HW_ERR_MEMORY. */
int hwi_recode_part(struct hwi_recoder *recoder, const struct hwi_unpacked *loaded, const struct hwi_part *part,
                    struct hwi_columns_out *out, struct hw_section_header *section);

#endif
