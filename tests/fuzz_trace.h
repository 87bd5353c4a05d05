/* fuzz_trace.h - the bytes of a fuzz target as a trace file; fuzz_reader.c describes their layout */
#ifndef HW_TESTS_FUZZ_TRACE_H
#define HW_TESTS_FUZZ_TRACE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/format.h"

enum { FUZZ_PAGE = 4096 };

static inline void fuzz_write_at(int fd, const uint8_t *bytes, size_t count, uint64_t off)
{
  if (pwrite(fd, bytes, count, (off_t)off) != (ssize_t)count)
    abort();
}

static inline void fuzz_write_trace(int fd, const uint8_t *bytes, size_t count)
{
  struct hw_trace_header header = {0};
  memcpy(&header, bytes, count < sizeof header ? count : sizeof header);
  if (header.kind != HW_TRACE_RAW || count < 2 * FUZZ_PAGE) {
    fuzz_write_at(fd, bytes, count, 0);
    return;
  }
  fuzz_write_at(fd, bytes, FUZZ_PAGE, 0);
  fuzz_write_at(fd, bytes + FUZZ_PAGE, FUZZ_PAGE, HW_TOOL_AREA_OFF);
  fuzz_write_at(fd, bytes + 2 * FUZZ_PAGE, count - 2 * FUZZ_PAGE, HW_CHUNKS_OFF);
}

#endif
