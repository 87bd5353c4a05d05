/* change.h - differences as a text shows them */
#ifndef HWI_COMPARE_CHANGE_H
#define HWI_COMPARE_CHANGE_H

#include "report/selection/selection.h"

struct hwi_number hwi_change_text(int64_t change, enum hwi_cost cost);    /* +64.0 MB, -1,024, 0 */
struct hwi_number hwi_change_share_text(uint64_t old, uint64_t new);      /* +5.3 %, -100 %; "" if `old` is 0 */
struct hwi_number hwi_change_time_text(uint64_t old_ns, uint64_t new_ns); /* +1.2 s */

#endif
