/* contents.h - what live blocks hold: text, zeros, pointers, the same bytes as another block
 *
 * Each block has one content, the first that applies:
 * zeros      all its bytes are 0
 * text       at least 4 characters of UTF-8 without control characters, then a NUL; what comes behind that is not looked at
 * pointers   at least half of its words that are not 0 are addresses in the heap or in a module
 * dense      its bytes are spread like those of compressed or encrypted data: blocks of at least 256 bytes
 * other
 *
 * duplicate  a block with the same usable bytes, all of them, as an earlier one (lower address). Blocks of zeros are duplicates, too.
 */
#ifndef HWI_MEMORY_TYPES_CONTENTS_H
#define HWI_MEMORY_TYPES_CONTENTS_H

#include "memory/heaps/heap.h"
#include "memory/image/modules.h"

enum hwi_content {
  HWI_CONTENT_ZEROS = 0,
  HWI_CONTENT_TEXT,
  HWI_CONTENT_POINTERS,
  HWI_CONTENT_DENSE,
  HWI_CONTENT_OTHER,
  HWI_CONTENT_NOT_KNOWN, /* the image does not have its bytes */
  HWI_CONTENTS,
};

extern const char *const hwi_content_names[HWI_CONTENTS];

/* A content that several blocks have. */
struct hwi_duplicate {
  uint64_t address, bytes; /* of the first of them */
  uint64_t copies;         /* all of them */
};

enum { HWI_DUPLICATES_MAX = 20, HWI_CONTENT_TEXT_BYTES = 64 };

struct hwi_core_contents {
  struct hwi_core_heap_sum sums[HWI_CONTENTS];
  struct hwi_core_heap_sum duplicates;           /* without the first block of each content */
  struct hwi_duplicate most[HWI_DUPLICATES_MAX]; /* those with most bytes in duplicates, in this order */
  size_t most_count;
};

/* Reads all live blocks. Returns false if there is no memory. */
bool hwi_core_contents_find(struct hwi_core_contents *contents, const struct hwi_memory *memory,
                            const struct hwi_core_heap *heap, const struct hwi_core_modules *modules);

/* Copies the text at the begin of the bytes, ended by NUL: "" if they do not begin with text. */
void hwi_content_text(char text[HWI_CONTENT_TEXT_BYTES], const unsigned char *bytes, uint64_t count);

#endif
