/* saver.c - saves the recording so far when a limit is crossed, in a process that the monitor does not wait for */
#include "launch/follow/saver.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/suffix.h"
#include "launch/output.h"
#include "launch/save.h"
#include "platform/os_tools.h"

/* --- the name --- */

char *hwi_saver_name(const char *path, uint32_t number)
{
  static const char suffix[] = ".hwt";
  size_t bytes = strlen(path);
  char *name;
  if (hwi_has_suffix(path, bytes, suffix))
    bytes -= sizeof suffix - 1;
  return asprintf(&name, "%.*s.saved-%u%s", (int)bytes, path, number, suffix) < 0 ? NULL : name;
}

/* Returns the first name that no file has, and its number. */
static char *choose_name(const char *path, uint32_t *number)
{
  for (*number = 1;; ++*number) {
    char *name = hwi_saver_name(path, *number);
    if (!name || access(name, F_OK) < 0)
      return name;
    free(name);
  }
}

/* --- the process that saves --- */

static void be_killed_like_causes(const struct hwi_save *save)
{
  for (size_t i = 0; i < HWI_SAVE_RULES_MAX; i++)
    if (save->causes[i].is_given)
      hwi_os_be_killed_like(save->causes[i].pid);
}

/* SIGTERM ends it early. Signals of the terminal do not: they are for the command. The monitor is killed before all
 * others when memory runs out, but this is the moment that is to be saved. */
static _Noreturn void save_and_exit(const struct hwi_saver *saver, struct hwi_save *save)
{
  be_killed_like_causes(save);
  save->pid = getpid();
  struct hwi_saved saved;
  sigset_t end;
  sigemptyset(&end);
  sigaddset(&end, SIGTERM);
  sigprocmask(SIG_UNBLOCK, &end, NULL);
  char *name = choose_name(saver->path, &save->number);
  const int status = name ? hwi_save(saver->path, name, &saved, &save->error)
                          : hwi_error_set(&save->error, HW_ERR_MEMORY, "no memory to save the recording");
  if (status == 0) {
    save->until_ns = saved.until_ns;
    save->packed_bytes = saved.packed_bytes;
  }
  save->state = status == 0 ? HWI_SAVE_DONE : HWI_SAVE_FAILED;
  _exit(EXIT_SUCCESS);
}

/* --- in the monitor --- */

void hwi_saver_look(struct hwi_saver *saver, struct hwi_save_watch *watches, uint32_t pid,
                    const struct hwi_save_figures *figures)
{
  for (size_t i = 0; i < saver->rule_count; i++) {
    uint64_t bytes;
    if (saver->rules[i].figure != HWI_SAVE_RSS && !figures->has_live)
      saver->saves->blind_pid = pid;
    if (!hwi_save_rule_is_crossed(&saver->rules[i], &watches[i], figures, &bytes))
      continue;
    saver->saves->crossings[i]++;
    if (saver->pending[i].is_given || saver->saves->traces[i] == HWI_SAVES_A_RULE)
      continue;
    saver->saves->traces[i]++;
    saver->pending[i] = (struct hwi_save_cause){true, pid, bytes};
    saver->has_pending = true;
  }
}

static void begin(struct hwi_saver *saver)
{
  struct hwi_save *save = &saver->saves->list[saver->saves->count++];
  memcpy(save->causes, saver->pending, sizeof save->causes);
  memset(saver->pending, 0, sizeof saver->pending);
  saver->has_pending = false;
  saver->pid = fork();
  if (saver->pid == 0)
    save_and_exit(saver, save);
  if (saver->pid > 0)
    return;
  hwi_error_set(&save->error, HW_ERR_IO, "cannot start a process that saves: %s", strerror(errno));
  save->state = HWI_SAVE_FAILED;
  saver->pid = 0;
}

/* The process was killed, perhaps because memory ran out. */
static void remove_partial(const struct hwi_saver *saver, uint32_t number)
{
  char *name = hwi_saver_name(saver->path, number);
  struct hwi_output partial = {0};
  if (name && asprintf(&partial.name, "%s.saving", name) >= 0)
    hwi_output_remove_made(&partial);
  hwi_output_release(&partial);
  free(name);
}

bool hwi_saves_go_on(const struct hwi_saves *saves)
{
  const struct hwi_save *save = saves->count > 0 ? &saves->list[saves->count - 1] : NULL;
  return save && save->state == HWI_SAVE_BEGUN && save->pid && hwi_os_running_process_start((uint32_t)save->pid);
}

static void take_end(struct hwi_saver *saver)
{
  int status = 0;
  if (!saver->pid || waitpid(saver->pid, &status, WNOHANG) == 0)
    return;
  struct hwi_save *save = &saver->saves->list[saver->saves->count - 1];
  saver->pid = 0;
  if (save->state != HWI_SAVE_BEGUN)
    return;
  remove_partial(saver, save->number);
  hwi_error_set(&save->error, HW_ERR_IO, "the process that saves was killed, perhaps because memory ran out");
  save->state = HWI_SAVE_FAILED;
}

void hwi_saver_work(struct hwi_saver *saver)
{
  take_end(saver);
  if (!saver->pid && saver->has_pending && saver->saves->count < HWI_SAVES_MAX)
    begin(saver);
}

void hwi_saver_finish(struct hwi_saver *saver, bool (*interrupted)(void))
{
  static const struct timespec moment = {.tv_nsec = 10000000};
  hwi_saver_work(saver); /* the command may have ended right after it crossed a limit */
  while (saver->pid) {
    if (interrupted()) {
      saver->has_pending = false;
      kill(saver->pid, SIGTERM);
    }
    nanosleep(&moment, NULL);
    hwi_saver_work(saver);
  }
}
