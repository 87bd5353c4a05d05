/* x86_vectors.h - vector registers of x86, as XSAVE writes them, which is how a core dump and ptrace have them
 *
 * 160    16 registers of 16 bytes (SSE)
 * 416    unused; from 512 on a header of 64 bytes
 * 576    the upper halves of wider registers (AVX), then more of what the CPU has
 */
#ifndef HWI_PLATFORM_X86_VECTORS_H
#define HWI_PLATFORM_X86_VECTORS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { HWI_X86_SSE_OFF = 160, HWI_X86_SSE_END = 416, HWI_X86_AVX_OFF = 576 };

/* Sets `words`, which has room for `most`, to those that are not 0; of `word_bytes` each, which is 4 or 8. Returns how many these
 * are. */
static inline size_t hwi_x86_vector_words(uint64_t *words, size_t most, const unsigned char *state, size_t bytes,
                                          unsigned word_bytes)
{
  size_t count = 0;
  for (size_t off = HWI_X86_SSE_OFF; off + word_bytes <= bytes && count < most; off += word_bytes) {
    if (off >= HWI_X86_SSE_END && off < HWI_X86_AVX_OFF)
      continue;
    words[count] = 0;
    memcpy(&words[count], state + off, word_bytes); /* x86 has the lowest byte first */
    count += words[count] != 0;
  }
  return count;
}

#endif
