/* samples.h - small recordings that use every part of the format, as seeds for damage */
#ifndef HWI_TESTS_TRACE_SAMPLES_H
#define HWI_TESTS_TRACE_SAMPLES_H

#include "encoder.h"

enum { SAMPLE_COUNT = 4, SAMPLE_EVENTS = 34 };

/* Sample 0 is raw with one stream, 1 is raw with three streams and ties, 2 is sample 1 packed, and 3 is raw with packed
 * copies and reports a fork. Each has SAMPLE_EVENTS events of whole blocks, of scopes and of heaps. */
static inline void sample_make(struct enc *enc, int which)
{
  enc_init(enc, (uint8_t)(which + 1));
  uint32_t streams = which == 0 ? 1 : 3;
  int chunk[3];
  for (uint32_t s = 0; s < streams; s++) {
    chunk[s] = enc_chunk(enc, s, 0, s, 1000000);
    enc_thread(enc, chunk[s], s, 500 + s, "sample");
    enc->chunks[chunk[s]].header.fields = HW_FIELD_USABLE | (s > 0 ? HW_FIELD_DURATION : 0);
    enc->chunks[chunk[s]].took = 1000 * s;
  }
  enc->header.fields = HW_FIELD_USABLE | (streams > 1 ? HW_FIELD_DURATION : 0);
  enc_record(enc, chunk[0], HW_RECORD_COMMAND, "a b\0c'd", 8);
  enc_record(enc, chunk[0], HW_RECORD_EXE, "/bin/a", 6);
  enc_record(enc, chunk[0], HW_RECORD_CWD, "/", 1);
  enc_record(enc, chunk[0], HW_RECORD_ENV, "A=1\0B=2\0", 8);
  enc_record(enc, chunk[0], HW_RECORD_NOTE, "\1module", 7);
  enc_record(enc, chunk[0], HW_RECORD_RSS, "\x90\x20", 2);
  enc_record(enc, chunk[0], 77, "unknown", 7);
  enc_module(enc, chunk[0], 1, 0x400000, 0x1000, 0x400000, "0123456789", "/bin/a");
  enc_module(enc, chunk[0], 2, 0x7f0000000000, 0x9000, 0x7f0000000000, "", "");
  enc_node(enc, chunk[0], 1, 0, 1, HW_ENTRY_NONE, 0x400100);
  enc_node(enc, chunk[0], 2, 1, 0, HW_NODE_CUT, 12);
  enc_node(enc, chunk[0], 3, 2, 2, HW_ENTRY_MALLOC, 0x7f0000000123);
  enc_node(enc, chunk[0], 4, 1, 1, HW_ENTRY_NEW, 0x400200);
  enc_name(enc, chunk[0], 1, "a scope");
  uint64_t tick = 1000000;
  for (int i = 0; i < 3; i++) {
    int c = chunk[(uint32_t)i % streams];
    enc_alloc_usable(enc, c, tick, 3, 40, 40, 0x10000);
    enc_free(enc, c, tick, 0x10000);
    enc_aligned(enc, c, tick + 20, 4, 4096, 12, 0x20000 + (uint64_t)i * 0x1000);
    enc_realloc(enc, c, tick + 30, 400, 3, 0x20000 + (uint64_t)i * 0x1000, 77, 0x30008);
    enc_free_via(enc, c, tick + 1000, HW_ENTRY_FREE_SIZED, 0x30008);
    enc_failed(enc, c, tick + 1000, 4, UINT64_MAX / 4, 4);
    enc_scope(enc, c, tick + 1000, (enum hw_scope_op)(1 + i), i == 2 ? 3 : 1, 7);
    enc_scope(enc, c, tick + 1001, HW_SCOPE_END, 1, 0);
    enc_heap_in_part(enc, c, tick + 1002, 31, &(struct enc_heap_event){HW_HEAP_ALLOC, 1, 1, 3, 50, 0x30018});
    enc_heap(enc, c, tick + 1003, &(struct enc_heap_event){(enum hw_heap_op)(HW_HEAP_FREE + i), 1, 1, 0, 0, 0x30018});
    tick += streams == 1 ? 2000 : 0;
  }
  enc_delete(enc, chunk[0], 1009000, 0x77777); /* unmatched */
  enc_tool(enc, HW_TOOL_MARK, 1000500, "mark", 4);
  enc_tool(enc, HW_TOOL_PAUSED, 1000600, "", 0);
  enc_tool(enc, HW_TOOL_RESUMED, 1000700, "", 0);
  enc_tool(enc, HW_TOOL_EXIT, 1010000, &(struct hw_exit_status){.code = 3}, sizeof(struct hw_exit_status));
  enc_tool(enc, HW_TOOL_RSS, 1000800, &(struct hw_rss_sample){.rss = 5}, sizeof(struct hw_rss_sample));
  enc_tool(enc, HW_TOOL_FILE, 1000850, "\0\0\x40\0\0\0\0\0/b", 10); /* 0x400000 */
  if (which == 2)
    enc->header.kind = HW_TRACE_PACKED;
  for (int i = 0; which == 3 && i < enc->chunk_count; i++)
    enc->chunks[i].in_packed = true;
  if (which == 3)
    enc->header.origin = HW_ORIGIN_FORK;
}

#endif
