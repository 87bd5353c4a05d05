/* small_run.h - a small recording with everything that a page or a chart shows: threads, marks, sizes, a block that is
 * not freed, scopes, counters, a heap of the program's own, and on request the durations of calls */
#ifndef HWI_TESTS_REPORT_SMALL_RUN_H
#define HWI_TESTS_REPORT_SMALL_RUN_H

#include <stdio.h>
#include <unistd.h>

#include "../profile/words_of_program.c"
#include "../trace/encoder.c"
#include "nameless.h"
#include "report/report.h"

enum { SMALL_RUN_BLOCKS = 100 };

struct small_run {
  char path[64];
  struct hwi_profile *profile;
};

static inline void small_run_write(const char *path, uint8_t fields)
{
  static struct enc enc;
  const uint64_t start = 1000000;
  enc_init(&enc, 1);
  const int chunk = enc_chunk(&enc, 0, 0, 0, start);
  enc.header.fields |= fields;
  enc.chunks[chunk].header.fields |= fields;
  enc_thread(&enc, 0, 0, 500, "main");
  enc_thread(&enc, 0, 1, 501, "other");
  enc_main(&enc, 0);
  enc_tool(&enc, HW_TOOL_MARK, enc.header.start.monotonic_ns + 50, "half", 4);
  for (uint64_t i = 0; i < SMALL_RUN_BLOCKS; i++, enc.chunks[chunk].took += 7)
    enc_alloc(&enc, 0, start + i, 2, 100 + i % 3, 0x10000 + 64 * i);
  for (uint64_t i = 0; i < SMALL_RUN_BLOCKS - 1; i++)
    enc_free(&enc, 0, start + 200 + i, 0x10000 + 64 * i);
  enc_words(&enc, 0, start + 400);
  enc_write(&enc, path);
  enc_release(&enc);
}

/* Returns false if its profile could not be made. `name` distinguishes its file from those of other tests; `fields` is
 * 0 or HW_FIELD_DURATION. */
static inline bool small_run_begin(struct small_run *run, const char *name, uint8_t fields)
{
  *run = (struct small_run){.profile = NULL};
  snprintf(run->path, sizeof run->path, "/tmp/hw-test-%s-%d.hwt", name, (int)getpid());
  small_run_write(run->path, fields);
  return hwi_profile_create(&run->profile, run->path, &(struct hwi_profile_options){.instance_details = true}, NULL) >=
         0;
}

static inline void small_run_end(struct small_run *run)
{
  hwi_profile_destroy(run->profile);
  unlink(run->path);
}

static inline int small_run_replay(void *run, const struct hwi_block_sink *sink, struct hwi_error *error)
{
  return hwi_profile_events(((struct small_run *)run)->path, &(struct hwi_profile_options){0}, sink, error);
}

static inline struct hwi_report small_run_report(struct small_run *run)
{
  return (struct hwi_report){.profile = run->profile, .names = nameless_names, .replayer = {small_run_replay, run}};
}

#endif
