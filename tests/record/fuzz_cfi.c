/* fuzz_cfi.c - fuzz target: arbitrary bytes as call frame information must neither crash the reader nor be read past
 * their end
 *
 * The first byte selects what the rest is: .eh_frame_hdr and everything after it, or the instructions of an FDE in a
 * valid frame. With -DFUZZ_STANDALONE it is a program that reads the named files, for compilers without libFuzzer.
 */
#include "cfi_forged.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static struct forged forged;
  static const char *const letters[] = {"zR", "zRS"};
  if (!forged.header && !forged_init(&forged))
    abort();
  if (size < 2)
    return 0;
  if (data[0] & 1) {
    forged_function(&forged, letters[data[0] >> 1 & 1], data + 1, size - 1);
    for (uintptr_t i = 0; i < 3; i++)
      forged_read(&forged, forged_start(&forged) + i * (FORGED_FUNCTION_BYTES / 2 - 1));
    return 0;
  }
  size_t used = size - 1 < FORGED_SEGMENT ? size - 1 : FORGED_SEGMENT;
  memcpy(forged_begin(&forged, used), data + 1, used);
  for (size_t at = 0; at < used; at += used / 4 + 1)
    forged_read(&forged, forged.module.eh_frame_hdr + at);
  forged_read(&forged, FORGED_FUNCTION);
  return 0;
}

#ifdef FUZZ_STANDALONE
#include <stdio.h>

int main(int argc, char **argv)
{
  static uint8_t data[1 << 20];
  for (int i = 1; i < argc; i++) {
    FILE *file = fopen(argv[i], "rb");
    if (!file)
      return 2;
    size_t size = fread(data, 1, sizeof data, file);
    fclose(file);
    LLVMFuzzerTestOneInput(data, size);
  }
  return 0;
}
#endif
