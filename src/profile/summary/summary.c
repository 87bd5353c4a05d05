/* summary.c - a replay's result in a file next to the trace
 *
 * Whether a summary is valid is decided from its header, before any other byte is read.
 */
#include "profile/summary/summary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/version.h"
#include "profile/summary/summary_epochs.h"
#include "profile/summary/summary_result.h"
#include "trace/read/run.h"

static const uint8_t MAGIC[HWI_CACHE_MAGIC_BYTES] = {0x89, 'H', 'W', 'S', '\r', '\n', 0x1a, '\n'};
enum {
  VERSION = 8, /* increased also if a figure changes its meaning within one program version */
  PROGRAM_BYTES = 24,
};

static const char SUFFIX[] = ".sum", ALL_SUFFIX[] = ".all.sum", FOLDER_SUFFIX[] = ".children";

struct header {
  uint8_t magic[HWI_CACHE_MAGIC_BYTES];
  uint32_t version;
  uint32_t image_count;
  char program[PROGRAM_BYTES]; /* the version of the program, followed by zeros */
  uint64_t fingerprint;        /* hwi_run_fingerprint */
  uint64_t result_off;         /* the epochs are between the header and this offset */
  uint64_t result_bytes;
  /* after the result: further data for parts of the run; nothing follows. 0: there are no epochs */
  uint64_t parts_bytes;
};
_Static_assert(sizeof(struct header) == 72, "without a gap");

/* Returns the CPU time, which does not depend on the machine's other work. */
static uint64_t clock_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (uint64_t)now.tv_sec * HWI_NS_A_SECOND + (uint64_t)now.tv_nsec;
}

/* Returns NULL if a profile with these options has no summary, or if there is no memory. A summary does not have the worst
 * instances of scopes with their details, which would be most of it, and no scopes of the user's rules. */
static char *path_of(const char *path, const struct hwi_run *run, const struct hwi_profile_options *options)
{
  bool single = options->images == HWI_IMAGES_LARGEST || run->count == 1;
  size_t bytes = strlen(path), folder_bytes = sizeof FOLDER_SUFFIX - 1;
  char *made = NULL;
  if (!options->summaries || options->instance_details || options->chains || options->heap ||
      (options->images == HWI_IMAGES_PID && !single))
    return NULL;
  while (bytes > 1 && path[bytes - 1] == '/')
    bytes--;
  if (bytes > folder_bytes && !memcmp(path + bytes - folder_bytes, FOLDER_SUFFIX, folder_bytes))
    bytes -= folder_bytes;
  return asprintf(&made, "%.*s%s", (int)bytes, path, single ? SUFFIX : ALL_SUFFIX) < 0 ? NULL : made;
}

void hwi_summary_init(struct hwi_summary *summary, const char *path, const struct hwi_run *run,
                      const struct hwi_profile_options *options)
{
  *summary =
      (struct hwi_summary){.path = path_of(path, run, options), .run = run, .began_ns = clock_ns(), .file.fd = -1};
  if (summary->path && !hwi_run_fingerprint(run, &summary->fingerprint))
    hwi_summary_release(summary);
}

void hwi_summary_release(struct hwi_summary *summary)
{
  hwi_cache_file_discard(&summary->file);
  free(summary->path);
  summary->path = NULL;
}

/* Returns the header without the sizes of its parts. */
static struct header header_of(const struct hwi_summary *summary)
{
  struct header header = {.version = VERSION,
                          .image_count = (uint32_t)summary->run->count,
                          .program = HWI_VERSION,
                          .fingerprint = summary->fingerprint};
  memcpy(header.magic, MAGIC, sizeof MAGIC);
  return header;
}

/* Writes or reads everything that a report of the whole run needs. */
static void pass_all(struct hwi_pass *pass, const struct hwi_run *run, struct hwi_result *result,
                     struct hwi_image *images)
{
  hwi_pass_number(pass, &result->profile.duration_ns);
  hwi_pass_images(pass, &result->restored, run, images);
  hwi_summary_pass_result(pass, result);
}

/* --- load --- */

/* Returns whether the header is that of this run's summary and the file has the length that it implies. */
static bool header_fits(int fd, const struct hwi_summary *summary, struct header *header)
{
  struct stat about;
  if (read(fd, header, sizeof *header) != (ssize_t)sizeof *header || fstat(fd, &about) < 0)
    return false;
  struct header expected = header_of(summary);
  expected.result_off = header->result_off;
  expected.result_bytes = header->result_bytes;
  expected.parts_bytes = header->parts_bytes;
  uint64_t bytes = (uint64_t)about.st_size;
  return memcmp(header, &expected, sizeof expected) == 0 && header->result_off >= sizeof *header &&
         header->result_off <= bytes && header->result_bytes <= bytes - header->result_off &&
         header->parts_bytes == bytes - header->result_off - header->result_bytes &&
         lseek(fd, (off_t)header->result_off, SEEK_SET) >= 0;
}

void hwi_summary_forget(struct hwi_result *result, struct hwi_image *images)
{
  struct hwi_profile *profile = &result->profile;
  hwi_result_release_lists(result);
  hwi_replay_release(&result->replay);
  memset(&result->replay, 0, sizeof result->replay);
  hwi_restored_images_release(&result->restored);
  hwi_restored_scopes_release(&result->restored_scopes);
  free(result->described);
  result->described = NULL;
  result->described_count = 0;
  free(result->cell_numbers);
  free(result->size_numbers);
  result->cell_numbers = result->size_numbers = NULL;
  hwi_list_release(&result->epoch_rows);
  hwi_list_release(&result->nodes);
  *profile = (struct hwi_profile){.images = profile->images, .image_count = profile->image_count};
  memset(images, 0, profile->image_count * sizeof *images);
}

/* An upper limit of the number of frames: each was a node of a trace. */
static uint64_t most_frames(const struct hwi_run *run)
{
  struct stat about;
  uint64_t most = 0;
  for (size_t i = 0; i < run->count; i++)
    if (stat(run->images[i].path, &about) == 0)
      most += hwi_trace_most_nodes((uint64_t)about.st_size);
  return most;
}

static bool load_result(const struct hwi_summary *summary, int fd, const struct header *header,
                        struct hwi_result *result, struct hwi_image *images)
{
  struct hwi_pass pass;
  hwi_pass_begin_read(&pass, fd, header->result_bytes);
  pass.most_frames = most_frames(summary->run);
  pass_all(&pass, summary->run, result, images);
  return hwi_pass_end(&pass) == 0 && result->profile.duration_ns <= HWI_TRACE_LATEST_NS;
}

static int open_summary(const struct hwi_summary *summary)
{
  return summary->path ? hwi_cache_file_open(summary->path) : -1;
}

/* The file offset is just after the result. */
static bool load_parts(int fd, const struct header *header, struct hwi_result *result)
{
  struct hwi_pass pass;
  if (lseek(fd, (off_t)(header->result_off + header->result_bytes), SEEK_SET) < 0)
    return false;
  hwi_pass_begin_read(&pass, fd, header->parts_bytes);
  pass.most_items += header->result_bytes; /* nodes take almost no bytes, but each has a stack, and stacks take bytes */
  hwi_summary_pass_epochs(&pass, result);
  return hwi_pass_end(&pass) == 0;
}

bool hwi_summary_load(const struct hwi_summary *summary, struct hwi_result *result, struct hwi_image *images)
{
  struct header header;
  int fd = open_summary(summary);
  if (fd < 0)
    return false;
  bool fits = header_fits(fd, summary, &header), done = fits && load_result(summary, fd, &header, result, images);
  if (fits && !done)
    hwi_summary_forget(result, images);
  close(fd);
  return done;
}

bool hwi_summary_load_epochs(const struct hwi_summary *summary, struct hwi_result *result, struct hwi_image *images,
                             struct hwi_epoch_file *epochs)
{
  struct header header;
  int fd = open_summary(summary);
  if (fd < 0)
    return false;
  bool fits = header_fits(fd, summary, &header) && header.parts_bytes; /* 0 parts_bytes: there are no epochs */
  bool done = fits && load_result(summary, fd, &header, result, images) && load_parts(fd, &header, result) &&
              result->epoch_rows.count &&
              hwi_epoch_file_open(epochs, fd, sizeof header, header.result_off, result->epoch_rows.count);
  if (fits && !done)
    hwi_summary_forget(result, images);
  if (!done)
    close(fd);
  return done;
}

/* --- store --- */

bool hwi_summary_begin(struct hwi_summary *summary)
{
  summary->end_off = sizeof(struct header);
  return summary->path && !summary->run->relatives /* their files are not part of the fingerprint */ &&
         hwi_cache_file_begin(&summary->file, summary->path, MAGIC);
}

bool hwi_summary_add_epoch(struct hwi_summary *summary, struct hwi_epoch *epoch)
{
  bool done = summary->file.fd >= 0 && hwi_epoch_file_add(summary->file.fd, &summary->end_off, epoch) == 0;
  if (!done)
    hwi_summary_release(summary);
  return done;
}

void hwi_summary_drop_epochs(struct hwi_summary *summary)
{
  summary->end_off = sizeof(struct header);
  if (summary->file.fd >= 0 && ftruncate(summary->file.fd, (off_t)summary->end_off) < 0)
    hwi_summary_release(summary);
}

/* Writes the further data at the current file offset, where load_parts reads them. */
static bool write_parts(const struct hwi_summary *summary, struct hwi_result *result, struct header *header)
{
  struct hwi_pass pass;
  if (result->epoch_rows.count == 0)
    return true;
  hwi_pass_begin_write(&pass, summary->file.fd);
  hwi_summary_pass_epochs(&pass, result);
  bool done = hwi_pass_end(&pass) == 0;
  header->parts_bytes = pass.packed_bytes;
  return done;
}

static bool write_result(const struct hwi_summary *summary, struct hwi_result *result, struct hwi_image *images)
{
  struct hwi_pass pass;
  if (lseek(summary->file.fd, (off_t)summary->end_off, SEEK_SET) < 0)
    return false;
  hwi_pass_begin_write(&pass, summary->file.fd);
  pass_all(&pass, summary->run, result, images);
  if (hwi_pass_end(&pass) < 0)
    return false;
  struct header header = header_of(summary);
  header.result_off = summary->end_off;
  header.result_bytes = pass.packed_bytes;
  if (!write_parts(summary, result, &header))
    return false;
  return pwrite(summary->file.fd, &header, sizeof header, 0) == (ssize_t)sizeof header;
}

void hwi_summary_keep(struct hwi_summary *summary, uint64_t least_ns, struct hwi_result *result,
                      struct hwi_image *images)
{
  if (clock_ns() - summary->began_ns >= least_ns && (summary->file.fd >= 0 || hwi_summary_begin(summary)) &&
      write_result(summary, result, images))
    result->profile.has_summary = hwi_cache_file_commit(&summary->file, summary->path);
  else
    hwi_cache_file_discard(&summary->file);
}

static void remove_one(const char *path, const char *suffix)
{
  char *summary = NULL;
  if (asprintf(&summary, "%s%s", path, suffix) < 0)
    return;
  hwi_cache_file_remove(summary, MAGIC);
  free(summary);
}

void hwi_summary_remove(const char *path)
{
  remove_one(path, SUFFIX);
  remove_one(path, ALL_SUFFIX);
}
