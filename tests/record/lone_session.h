/* lone_session.h - a session that only the test uses, begun without a thread, a stream or an entry point */
#ifndef TESTS_RECORD_LONE_SESSION_H
#define TESTS_RECORD_LONE_SESSION_H

#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "record/session.h"
#include "record/unwind/modules.h"
#include "record/unwind/nodes.h"

static char lone_session_path[64];

/* Returns 0, or an error number. */
static inline int lone_session_begin(uint64_t window_bytes, uint32_t depth)
{
  struct hw_trace_header header = {.pid = 1};
  snprintf(lone_session_path, sizeof lone_session_path, "/tmp/heapwright-test-lone-%d.hwt", (int)getpid());
  unlink(lone_session_path);
  hwi_nodes_init();
  if (!hwi_modules_init())
    return -1;
  atomic_store(&hwi_session.unload_epoch, 1);
  hwi_session.clock = HW_CLOCK_TSC;
  hwi_session.options.depth = depth;
  int result = hwi_writer_open(&hwi_session.writer, lone_session_path, window_bytes, &header);
  hwi_session.header = hwi_session.writer.header;
  atomic_store(&hwi_session.phase, result ? HWI_PHASE_OFF : HWI_PHASE_ON);
  return result;
}

static inline int lone_session_end(void)
{
  hwi_writer_close(&hwi_session.writer);
  return unlink(lone_session_path);
}

#endif
