/* import.c - packs a recording that was left raw */
#include "launch/import.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launch/copied_run.h"
#include "launch/ending_signals.h"
#include "launch/output.h"
#include "launch/pack/compact.h"
#include "trace/read/alive.h"
#include "trace/read/run.h"
#include "trace/read/trace.h"

struct job {
  struct hwi_packer *packer;
  const char *to;
  bool in_place;
  struct hwi_imported *imported;
};

static int import_one(struct job *job, const char *from, const char *to, struct hwi_error *error)
{
  struct hw_trace_header header;
  struct hwi_compacted compacted;
  int fd = hwi_trace_file_open(from, &header, error);
  if (fd < 0)
    return fd;
  int status;
  uint32_t writer = hwi_trace_writer(fd, &header);
  if (writer && (job->in_place || writer != HWI_WRITER_UNSEEN)) /* an unseen writer: the trace as it is now */
    status = hwi_output_is_written(from, writer, "wait until it has ended", error);
  else
    status = hwi_compact(&(struct hwi_compaction){job->packer, fd, from, to, hwi_deferred_is_asked, NULL}, &compacted,
                         error);
  close(fd);
  if (status == 0) {
    job->imported->trace_count++;
    job->imported->event_count += compacted.event_count;
    job->imported->packed_bytes += compacted.bytes;
  }
  return status;
}

static int import_run(struct job *job, const struct hwi_run *run, struct hwi_error *error)
{
  struct hwi_copied_run copied = {.name = job->to, .is_single = run->count == 1};
  int status = 0;
  for (size_t i = 0; i < run->count && status == 0; i++) {
    const char *from = run->images[i].path;
    char *to = NULL;
    status = job->in_place ? 0 : hwi_copied_run_place(&copied, from, &to, error);
    if (status == 0)
      status = import_one(job, from, job->in_place ? from : to, error);
    free(to);
  }
  job->imported->unreadable = (uint32_t)run->unreadable;
  return status;
}

static bool is_same_file(const char *a, const char *b)
{
  struct stat about_a, about_b;
  return stat(a, &about_a) == 0 && stat(b, &about_b) == 0 && about_a.st_ino == about_b.st_ino &&
         about_a.st_dev == about_b.st_dev;
}

/* Moves an earlier `to` away, imports the run, and restores the earlier file on failure. */
static int replace(struct job *job, const struct hwi_run *run, struct hwi_error *error)
{
  struct hwi_output output = {0};
  int status = job->in_place ? 0 : hwi_output_place(&output, job->to, error);
  if (status == 0 && !job->in_place)
    status = hwi_output_set_aside(&output, error);
  bool has_place = status == 0;
  job->packer = hwi_packer_create();
  if (has_place)
    status = job->packer ? import_run(job, run, error) : hwi_error_set(error, HW_ERR_MEMORY, "no memory");
  if (status == 0)
    hwi_output_discard_earlier(&output);
  else if (has_place && !job->in_place)
    hwi_output_remove_made(&output);
  hwi_output_restore_earlier(&output);
  hwi_output_release(&output);
  hwi_packer_destroy(job->packer);
  return status;
}

int hwi_import(const char *from, const char *to, struct hwi_imported *imported, struct hwi_error *error)
{
  struct hwi_run run;
  struct job job = {.to = to, .in_place = is_same_file(from, to), .imported = imported};
  *imported = (struct hwi_imported){0};
  int status = hwi_run_find(&run, from, false, error);
  if (status < 0)
    return status;
  hwi_deferred_begin();
  status = replace(&job, &run, error);
  hwi_run_release(&run);
  hwi_deferred_end();
  return status;
}
