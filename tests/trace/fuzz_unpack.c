/* fuzz_unpack.c - any bytes as the columns of a packed section: no crash, no hang, nothing outside of the output
 *
 * An input is the size of the output, the sizes of the columns, and the columns as they are, without zstd in between.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "trace/recode.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

enum { OUTPUT_MAX = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
  uint16_t sizes[1 + HWI_COLUMN_COUNT];
  struct hwi_columns_in in = {0};
  if (count < sizeof sizes)
    return 0;
  memcpy(sizes, bytes, sizeof sizes);
  bytes += sizeof sizes;
  count -= sizeof sizes;
  for (int i = 0; i < HWI_COLUMN_COUNT; i++) {
    size_t column = sizes[1 + i] < count ? sizes[1 + i] : count;
    in.columns[i] = (struct hwi_column_in){bytes, bytes + column};
    bytes += column;
    count -= column;
  }
  size_t wanted = sizes[0] % OUTPUT_MAX;
  uint8_t *to = malloc(wanted + HWI_RESTORE_SLACK);
  if (!to)
    return 0;
  int status = hwi_restore(&in, to, wanted);
  if (status != 0 && status != HW_ERR_DAMAGED)
    abort();
  free(to);
  return 0;
}
