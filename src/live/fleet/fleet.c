/* fleet.c - the runs whose figures a server gives to other programs */
#include "live/fleet/fleet.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/suffix.h"
#include "launch/control.h"
#include "platform/os.h"
#include "trace/grow.h"
#include "trace/read/trace.h"

enum {
  LOOK_EVERY_MS = 1000,
  LOOK_AT_PROCESSES_EVERY_MS = 10000, /* it reads the mappings of each, which stops it for a moment */
  KEEP_MS = 300000,                   /* a run that has ended */
  START_AGAIN_MS = 10000,             /* an analyst that is gone */
  READING_MOST = 4,                   /* analysts that have just begun */
};

/* --- the end of a run --- */

static void end_analyst(struct hwi_fleet_run *run)
{
  if (run->analyst.socket < 0)
    return;
  hwi_analyst_end(&run->analyst); /* it has nothing to save */
  run->analyst.socket = -1;
  run->asked_ms = 0;
}

static void drop_kept(struct hwi_fleet_run *run)
{
  for (uint32_t i = 0; i < run->kept_count; i++)
    close(run->kept[i].answer.fd);
  run->kept_count = run->next_kept = 0;
}

static void drop(struct hwi_fleet *fleet, size_t index)
{
  struct hwi_fleet_run *run = fleet->runs[index];
  end_analyst(run);
  drop_kept(run);
  free(run->path);
  free(run);
  fleet->runs[index] = fleet->runs[--fleet->count];
}

void hwi_fleet_release(struct hwi_fleet *fleet)
{
  while (fleet->count > 0)
    drop(fleet, fleet->count - 1);
  free(fleet->runs);
  free(fleet->old);
}

/* --- the begin of a run --- */

static void start(struct hwi_fleet *fleet, struct hwi_fleet_run *run)
{
  run->began_ms = run->heard_ms = hwi_os_monotonic_ms();
  run->has_read = run->is_needed = false;
  struct hwi_error error;
  if (fleet->start(fleet->context, run->path, run->name, &run->analyst, &error) < 0)
    run->analyst = (struct hwi_analyst){.socket = -1};
  else
    hwi_fleet_ask(run, NULL); /* the answer comes when it has read the recording */
}

static bool is_to_start(const struct hwi_fleet_run *run, uint64_t now_ms)
{
  return run->analyst.socket < 0 && (run->kept_count == 0 || run->is_needed) &&
         (!run->began_ms || now_ms - run->began_ms >= START_AGAIN_MS);
}

static void start_some(struct hwi_fleet *fleet)
{
  const uint64_t now_ms = hwi_os_monotonic_ms();
  size_t reading = 0;
  for (size_t i = 0; i < fleet->count; i++) {
    const struct hwi_fleet_run *run = fleet->runs[i];
    reading += run->analyst.socket >= 0 && !run->has_read && !hwi_fleet_is_late(run);
  }
  for (size_t i = 0; i < fleet->count && reading < READING_MOST; i++)
    if (is_to_start(fleet->runs[i], now_ms)) {
      start(fleet, fleet->runs[i]);
      reading++;
    }
}

static bool add(struct hwi_fleet *fleet, const char *path, const uint8_t *id)
{
  struct hwi_fleet_run *run = calloc(1, sizeof *run);
  char *copy = strdup(path);
  if (!run || !copy ||
      !hwi_grow((void **)&fleet->runs, &fleet->room, fleet->count + 1, sizeof(struct hwi_fleet_run *))) {
    free(run);
    free(copy);
    return false;
  }
  *run = (struct hwi_fleet_run){.path = copy, .name = copy, .analyst = {.socket = -1}, .is_seen = true};
  if (fleet->folder)
    run->name += strlen(fleet->folder) + 1;
  memcpy(run->id, id, sizeof run->id);
  fleet->runs[fleet->count++] = run;
  return true;
}

/* --- recordings --- */

static struct hwi_fleet_run *find(const struct hwi_fleet *fleet, const char *path)
{
  for (size_t i = 0; i < fleet->count; i++)
    if (strcmp(fleet->runs[i]->path, path) == 0)
      return fleet->runs[i];
  return NULL;
}

/* A recording that was saved next to the one that goes on has the same ID. */
static bool is_known(const struct hwi_fleet *fleet, const uint8_t *id)
{
  for (size_t i = 0; i < fleet->count; i++)
    if (memcmp(fleet->runs[i]->id, id, sizeof fleet->runs[i]->id) == 0)
      return true;
  return false;
}

/* A recording that this user may not read has no figures, which is said; its ID is not known. */
static void consider_forbidden(struct hwi_fleet *fleet, const char *path)
{
  static const uint8_t no_id[HW_ID_BYTES];
  struct hwi_fleet_run *known = find(fleet, path);
  if (known && memcmp(known->id, no_id, sizeof no_id) == 0)
    known->is_seen = true;
  else if (!known && fleet->count < fleet->most)
    add(fleet, path, no_id);
}

/* Looks at a file that may be a recording. `with_ended`: it may have ended. Returns whether it needs no second look. */
static bool consider(struct hwi_fleet *fleet, const char *path, bool with_ended)
{
  struct hw_trace_header header;
  struct hwi_error error = {0};
  const int fd = hwi_trace_file_open(path, &header, &error);
  struct hwi_fleet_run *known = find(fleet, path);
  if (fd < 0 && error.os_error == EACCES && fleet->folder && with_ended)
    consider_forbidden(fleet, path);
  if (fd < 0)
    return false; /* it may be one that begins */
  close(fd);
  if (known && memcmp(known->id, header.image_id, sizeof known->id) == 0) {
    known->is_seen = true;
    return false;
  }
  if (known) /* another recording has its name now: the look ends the earlier one */
    return false;
  if (is_known(fleet, header.image_id) || (!with_ended && !hwi_follow_run_goes_on(path)))
    return true;
  if (fleet->count < fleet->most)
    return !add(fleet, path, header.image_id);
  fleet->left_out += !with_ended || !hwi_follow_run_goes_on(path); /* a folder is looked at twice */
  return false;
}

/* --- the recordings of a folder --- */

static int compare(const void *one, const void *other)
{
  const uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
  return a < b ? -1 : a > b;
}

/* A file that changes later gets another key. */
static uint64_t key_of(const char *name, const struct stat *about)
{
  uint64_t key = hwi_fnv_text(name);
  key = hwi_fnv(key, &about->st_ino, sizeof about->st_ino);
  key = hwi_fnv(key, &about->st_size, sizeof about->st_size);
  return hwi_fnv(key, &about->st_mtim, sizeof about->st_mtim);
}

static bool is_old(const struct hwi_fleet *fleet, uint64_t key)
{
  return fleet->old_sorted > 0 && bsearch(&key, fleet->old, fleet->old_sorted, sizeof key, compare);
}

static void look_at_file(struct hwi_fleet *fleet, int folder, const char *name, bool with_ended)
{
  static const char suffix[] = ".hwt";
  struct stat about;
  char path[PATH_MAX];
  const size_t bytes = strlen(name);
  if (!hwi_has_suffix(name, bytes, suffix) || fstatat(folder, name, &about, AT_SYMLINK_NOFOLLOW) < 0 ||
      !S_ISREG(about.st_mode) || snprintf(path, sizeof path, "%s/%s", fleet->folder, name) >= (int)sizeof path)
    return;
  const uint64_t key = key_of(name, &about);
  const bool is_recent = time(NULL) - about.st_mtim.tv_sec < KEEP_MS / 1000;
  if (is_old(fleet, key) || (with_ended && !is_recent))
    return;
  if (consider(fleet, path, with_ended) && (with_ended || !is_recent) &&
      hwi_grow((void **)&fleet->old, &fleet->old_room, fleet->old_count + 1, sizeof *fleet->old))
    fleet->old[fleet->old_count++] = key;
}

/* Those that go on come first: those that have ended may be copies of them. */
static void look_at_folder(struct hwi_fleet *fleet)
{
  DIR *folder = opendir(fleet->folder);
  if (!folder)
    return;
  for (int with_ended = false; with_ended <= true; with_ended++) {
    rewinddir(folder);
    for (const struct dirent *entry = readdir(folder); entry; entry = readdir(folder))
      look_at_file(fleet, dirfd(folder), entry->d_name, with_ended);
  }
  closedir(folder);
  if (fleet->old_count > fleet->old_sorted)
    qsort(fleet->old, fleet->old_count, sizeof *fleet->old, compare);
  fleet->old_sorted = fleet->old_count;
}

/* --- all --- */

static void look_at_recording(void *context, const char *path, uint64_t start_ns)
{
  (void)start_ns;
  consider(context, path, false);
}

static void find_runs(struct hwi_fleet *fleet)
{
  for (size_t i = 0; i < fleet->count; i++)
    fleet->runs[i]->is_seen = false;
  fleet->left_out = 0;
  if (fleet->folder)
    look_at_folder(fleet);
  else if (fleet->path)
    consider(fleet, fleet->path, true);
  else
    hwi_control_each(look_at_recording, fleet);
}

/* A run whose file has gone, or is another recording's now, has ended; so has one that is recorded no more. */
static bool is_done(const struct hwi_fleet *fleet, const struct hwi_fleet_run *run, uint64_t now_ms)
{
  struct hw_trace_header header;
  if (run->users > 0)
    return false;
  if (run->ended_ms && !fleet->path && now_ms - run->ended_ms >= KEEP_MS)
    return true;
  if (run->is_seen)
    return false;
  const int fd = hwi_trace_file_open(run->path, &header, NULL);
  if (fd >= 0)
    close(fd);
  return fd < 0 || memcmp(run->id, header.image_id, sizeof run->id) != 0;
}

/* Later images of a run are in a folder. */
static uint64_t images_of(const struct hwi_fleet_run *run)
{
  char folder[PATH_MAX];
  struct stat about;
  if (snprintf(folder, sizeof folder, "%s.children", run->path) >= (int)sizeof folder || stat(folder, &about) < 0)
    return 0;
  return key_of("", &about);
}

static void look(struct hwi_fleet *fleet, uint64_t now_ms)
{
  find_runs(fleet);
  for (size_t i = fleet->count; i-- > 0;) {
    struct hwi_fleet_run *run = fleet->runs[i];
    if (is_done(fleet, run, now_ms))
      drop(fleet, i);
    else if (run->kept_count && images_of(run) != run->kept_images) /* it may go on after all */
      drop_kept(run);
  }
}

void hwi_fleet_look(struct hwi_fleet *fleet)
{
  const uint64_t now_ms = hwi_os_monotonic_ms();
  if (now_ms >= fleet->next_look_ms) {
    fleet->next_look_ms = now_ms + (fleet->folder || fleet->path ? LOOK_EVERY_MS : LOOK_AT_PROCESSES_EVERY_MS);
    look(fleet, now_ms);
  }
  start_some(fleet);
}

/* --- questions and answers --- */

bool hwi_fleet_ask(struct hwi_fleet_run *run, const struct hwi_live_query *query)
{
  run->asked_images = images_of(run);
  if (query)
    run->asked = *query;
  if (query ? !hwi_analyst_ask_part(&run->analyst, query) : !hwi_analyst_ask(&run->analyst, HWI_LIVE_STATE, false))
    return false;
  run->asked_ms = hwi_os_monotonic_ms();
  return true;
}

bool hwi_fleet_is_late(const struct hwi_fleet_run *run)
{
  return run->asked_ms && hwi_os_monotonic_ms() - run->asked_ms >= HWI_FLEET_PATIENCE_MS;
}

/* Keeps an answer of a run that has ended, instead of the oldest one if there are many. */
static void keep(struct hwi_fleet_run *run, const struct hwi_live_answer *answer)
{
  struct hwi_live_answer copy = *answer;
  copy.fd = fcntl(answer->fd, F_DUPFD_CLOEXEC, 0);
  if (copy.fd < 0)
    return;
  struct hwi_fleet_kept *kept = &run->kept[run->next_kept];
  if (run->kept_count == HWI_FLEET_KEPT_MAX)
    close(kept->answer.fd);
  else
    run->kept_count++;
  *kept = (struct hwi_fleet_kept){run->asked, copy};
  run->next_kept = (run->next_kept + 1) % HWI_FLEET_KEPT_MAX;
  run->kept_images = run->asked_images;
  end_analyst(run);
  run->began_ms = 0;
  run->is_needed = false;
}

bool hwi_fleet_find_kept(struct hwi_fleet_run *run, const struct hwi_live_query *query, struct hwi_live_answer *answer)
{
  for (uint32_t i = 0; i < run->kept_count; i++) {
    if (!hwi_live_query_is_same(&run->kept[i].query, query))
      continue;
    *answer = run->kept[i].answer;
    answer->fd = fcntl(answer->fd, F_DUPFD_CLOEXEC, 0);
    if (answer->fd < 0)
      snprintf(answer->error, sizeof answer->error, "the server has too many open files");
    return true;
  }
  run->is_needed = true;
  return false;
}

bool hwi_fleet_take(struct hwi_fleet_run *run, struct hwi_live_answer *answer)
{
  static const struct hwi_live_query metrics = {.endpoint = 0};
  run->asked_ms = 0;
  run->heard_ms = hwi_os_monotonic_ms();
  if (!hwi_analyst_take(&run->analyst, answer)) {
    end_analyst(run);
    return false;
  }
  run->has_read = true;
  if (answer->state == HWI_FOLLOW_MORE || answer->state == HWI_FOLLOW_WAITS)
    run->ended_ms = 0;
  else if (!run->ended_ms)
    run->ended_ms = run->heard_ms;
  if (answer->state == HWI_FOLLOW_OVER && answer->form == HWI_LIVE_PART && answer->fd >= 0)
    keep(run, answer);
  else if (answer->state == HWI_FOLLOW_OVER && answer->form == HWI_LIVE_STATE && run->kept_count == 0)
    hwi_fleet_ask(run, &metrics);
  else if (!run->ended_ms)
    drop_kept(run);
  return true;
}
