/* save.c - saves the present state of a run that is being recorded as a recording of its own
 *
 * The moment that is saved is one for all processes. Events with earlier times may still be incomplete then, because a
 * thread may be in the middle of one; so the traces are read a while later, and cut at the moment. What only the header
 * of a trace says is read at the moment itself.
 *
 * The copy is made under NAME.saving, and gets its name when it is complete. If this program is killed, files of that
 * name may stay; the next save to NAME replaces them.
 */
#include "launch/save.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "launch/copied_run.h"
#include "launch/ending_signals.h"
#include "launch/output.h"
#include "launch/pack/compact.h"
#include "platform/arch.h"
#include "platform/os.h"
#include "trace/anchor.h"
#include "trace/read/alive.h"
#include "trace/read/run.h"
#include "trace/read/trace.h"

/* A thread may be in the middle of an event for so long. */
static const long EVENT_DELAY_MAX_NS = 200000000;

struct job {
  struct hwi_run run;
  bool *is_written; /* of each image that was known at the moment */
  size_t known;     /* their number */
  bool goes_on;     /* any of them is written */
  struct hw_anchor now;
  struct hwi_output output, partial;
  struct hwi_copied_run copied;
  struct hwi_packer *packer;
  struct hwi_saved *saved;
  struct hwi_error *error;
};

static int no_memory(const struct job *job)
{
  return hwi_error_set(job->error, HW_ERR_MEMORY, "no memory to save the recording");
}

/* --- the moment --- */

/* Also brings the header up to date. */
static bool is_written(struct hwi_run_image *image)
{
  struct hw_trace_header header;
  int fd = hwi_trace_file_open(image->path, &header, NULL);
  if (fd < 0)
    return false;
  const bool found = hwi_trace_writer(fd, &header) != 0;
  hwi_index_update_header(fd, &image->header);
  close(fd);
  return found;
}

static int find_run(struct job *job, const char *path)
{
  int status = hwi_run_find(&job->run, path, true, job->error);
  if (status < 0)
    return status;
  job->known = job->run.count;
  job->is_written = calloc(job->known + 1, sizeof *job->is_written);
  if (!job->is_written)
    return no_memory(job);
  for (size_t i = 0; i < job->known; i++) {
    job->is_written[i] = is_written(&job->run.images[i]);
    job->goes_on |= job->is_written[i];
  }
  struct hwi_moment moment = hwi_moment_of(hwi_os_monotonic_ns, hwi_arch_clock);
  job->now = (struct hw_anchor){moment.inner, moment.outer};
  return 0;
}

/* Waits until all events before the moment are certain, and finds images that began before it but were not known. */
static int wait_until_certain(struct job *job)
{
  struct timespec left = {.tv_nsec = EVENT_DELAY_MAX_NS};
  while (!hwi_deferred_is_asked() && nanosleep(&left, &left) < 0)
    ;
  if (hwi_deferred_is_asked())
    return hwi_error_set(job->error, HW_ERR_IO, "interrupted: nothing was saved");
  return hwi_run_look(&job->run, job->error);
}

/* --- one image --- */

static bool began_later(const struct job *job, const struct hw_trace_header *header)
{
  return header->start.monotonic_ns > job->now.monotonic_ns;
}

/* An image that was not written then has not ended if an exec replaced it later: it was about to be replaced. */
static bool had_ended(const struct job *job, size_t number)
{
  const struct hwi_run_image *image = &job->run.images[number];
  const uint64_t lived_ns = job->now.monotonic_ns - image->header.start.monotonic_ns;
  return image->replaced_ns <= lived_ns ||
         (image->replaced_ns == UINT64_MAX && number < job->known && !job->is_written[number]);
}

/* A program that begins after the moment is not in the copy. It must not seem to be one that was not recorded. */
static void forget_later_programs(const struct job *job, struct hw_trace_header *header)
{
  for (size_t i = job->known; i < job->run.count; i++) {
    const struct hw_trace_header *later = &job->run.images[i].header;
    for (int k = 0; k < HW_CHILD_EXECS; k++)
      if (began_later(job, later) && (header->child_execs[k].pid & ~HW_EXEC_IS_COUNTED) == later->pid)
        header->child_execs[k] = (struct hw_exec){0};
  }
}

static struct hwi_cut cut_of(const struct job *job, size_t number)
{
  struct hwi_cut cut = {.header = job->run.images[number].header, .tick = UINT64_MAX, .monotonic_ns = UINT64_MAX};
  struct hw_trace_header *header = &cut.header;
  const uint64_t units = header->clock == HW_CLOCK_TSC ? job->now.clock : job->now.monotonic_ns;
  forget_later_programs(job, header);
  if (had_ended(job, number))
    return cut;
  cut.tick = units >> header->tick_shift;
  cut.monotonic_ns = job->now.monotonic_ns;
  const bool exited = header->state == HW_STATE_EXITED && header->last.monotonic_ns <= job->now.monotonic_ns;
  const bool stopped = header->state >= HW_STATE_STOPPED_LIMIT && header->stop_clock <= units;
  if (exited || stopped)
    return cut;
  header->state = HW_STATE_SAVED;
  header->stop_clock = units;
  header->last = (struct hw_anchor){units, job->now.monotonic_ns};
  return cut;
}

static int save_image(struct job *job, size_t number, const char *to)
{
  const struct hwi_run_image *image = &job->run.images[number];
  struct hw_trace_header header;
  struct hwi_compacted compacted;
  int fd = hwi_trace_file_open(image->path, &header, job->error);
  if (fd < 0)
    return fd;
  int status = 0;
  const struct hwi_cut cut = cut_of(job, number);
  if (memcmp(header.image_id, image->header.image_id, HW_ID_BYTES) != 0)
    status =
        hwi_error_set(job->error, HW_ERR_BUSY, "%s was replaced by another trace meanwhile; try again", image->path);
  else
    status = hwi_compact(&(struct hwi_compaction){job->packer, fd, image->path, to, hwi_deferred_is_asked, &cut},
                         &compacted, job->error);
  close(fd);
  if (status == 0) {
    job->saved->trace_count++;
    job->saved->event_count += compacted.event_count;
    job->saved->packed_bytes += compacted.bytes;
  }
  return status;
}

static int save_images(struct job *job)
{
  size_t count = 0;
  for (size_t i = 0; i < job->run.count; i++)
    count += !began_later(job, &job->run.images[i].header);
  job->copied = (struct hwi_copied_run){.name = job->partial.name, .is_single = count == 1};
  int status = 0;
  for (size_t i = 0; i < job->run.count && status == 0; i++) {
    if (began_later(job, &job->run.images[i].header))
      continue;
    char *to;
    status = hwi_copied_run_place(&job->copied, job->run.images[i].path, &to, job->error);
    if (status == 0)
      status = save_image(job, i, to);
    free(to);
  }
  return status;
}

/* --- the name --- */

static bool is_same_file(const char *a, const char *b)
{
  struct stat about_a, about_b;
  return stat(a, &about_a) == 0 && stat(b, &about_b) == 0 && about_a.st_ino == about_b.st_ino &&
         about_a.st_dev == about_b.st_dev;
}

/* Returns whether the copy would be one of the run's own files, or appear as one of them. */
static bool is_of_run(const struct job *job)
{
  char *name = job->output.name, *slash = strrchr(name, '/'), *folder = NULL;
  bool found = false;
  for (size_t i = 0; i < job->run.count && !found; i++)
    found = is_same_file(name, job->run.images[i].path);
  if (job->run.folder && asprintf(&folder, "%s.children", name) >= 0) {
    *slash = 0;
    found |= is_same_file(folder, job->run.folder) || is_same_file(slash == name ? "/" : name, job->run.folder);
    *slash = '/';
    free(folder);
  }
  return found;
}

static int find_place(struct job *job, const char *to)
{
  int status = hwi_output_place(&job->output, to, job->error);
  if (job->output.name && is_of_run(job))
    return hwi_error_set(job->error, HW_ERR_EXISTS, "%s is a part of the recording itself; name another file with -o",
                         to);
  if (status < 0)
    return status;
  if (asprintf(&job->partial.name, "%s.saving", job->output.name) < 0) {
    job->partial.name = NULL;
    return no_memory(job);
  }
  hwi_output_remove_made(&job->partial);
  return hwi_output_check(&job->partial, job->error);
}

static int give_name(const struct job *job, const char *suffix)
{
  char *from = NULL, *to = NULL;
  int status = HW_ERR_MEMORY;
  if (asprintf(&from, "%s%s", job->partial.name, suffix) >= 0 && asprintf(&to, "%s%s", job->output.name, suffix) >= 0)
    status = rename(from, to) == 0 ? 0 : HW_ERR_IO;
  if (status < 0)
    hwi_error_set(job->error, status, "cannot make %s%s: %s", job->output.name, suffix,
                  status == HW_ERR_IO ? strerror(errno) : hwi_status_text(status));
  free(from);
  free(to);
  return status;
}

/* Replaces what is there by the copy. The trace comes last: its children are there when it is found. */
static int put_in_place(struct job *job)
{
  int status = hwi_output_set_aside(&job->output, job->error);
  if (status == 0)
    hwi_output_remove_made(&job->output); /* children whose NAME is gone */
  if (status == 0 && job->copied.has_folder)
    status = give_name(job, ".children");
  if (status == 0 && job->copied.has_name)
    status = give_name(job, "");
  if (status == 0)
    hwi_output_discard_earlier(&job->output);
  hwi_output_restore_earlier(&job->output);
  return status;
}

static int save(struct job *job, const char *path, const char *to)
{
  int status = find_run(job, path);
  if (status == 0)
    status = find_place(job, to);
  if (status == 0 && job->goes_on)
    status = wait_until_certain(job);
  if (status == 0) {
    job->packer = hwi_packer_create();
    status = job->packer ? 0 : no_memory(job);
  }
  if (status == 0) {
    hwi_packer_set_effort(job->packer, HWI_EFFORT_FAST);
    status = save_images(job);
  }
  if (status == 0)
    status = put_in_place(job);
  if (status < 0 && job->partial.name)
    hwi_output_remove_made(&job->partial);
  return status;
}

/* Returns the moment that is saved; of a run that had ended, its last one. */
static uint64_t until(const struct job *job)
{
  uint64_t last_ns = job->run.images[0].header.start.monotonic_ns;
  for (size_t i = 0; i < job->run.count; i++)
    if (job->run.images[i].header.last.monotonic_ns > last_ns)
      last_ns = job->run.images[i].header.last.monotonic_ns;
  return job->goes_on ? job->now.monotonic_ns : last_ns;
}

int hwi_save(const char *path, const char *to, struct hwi_saved *saved, struct hwi_error *error)
{
  struct job job = {.saved = saved, .error = error};
  *saved = (struct hwi_saved){0};
  hwi_deferred_begin();
  int status = save(&job, path, to);
  if (status == 0) {
    saved->goes_on = job.goes_on;
    saved->until_ns = until(&job) - job.run.images[0].header.start.monotonic_ns;
  }
  hwi_packer_destroy(job.packer);
  hwi_output_release(&job.output);
  hwi_output_release(&job.partial);
  hwi_run_release(&job.run);
  free(job.is_written);
  hwi_deferred_end();
  return status;
}
