/* analysis.c - what an analyst does: it counts what a run does, and answers questions about that */
#include "live/analysis.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "export/export.h"
#include "live/fleet/pprof.h"
#include "page/page.h"
#include "platform/os.h"
#include "platform/os_tools.h"
#include "report/names/named_frames.h"

enum {
  EVENTS_A_LOOK = 1 << 20, /* so many can be read while a question waits */
  LOOK_EVERY_MS = 50,
  LOOK_RARELY_EVERY_MS = 1000,
  FRESH_AFTER_MS = 1000,
  FRESH_SHARE = 5,             /* so much longer than counting again takes, it is not begun again */
  LOOK_BEFORE_ANSWER_MS = 200, /* of an analyst that lags behind */
  NICENESS = 5,                /* the program comes first, as for the packer of its recording */
};

/* --- the process that writes a document --- */

/* Returns 0 or a negative status. */
static int write_document(const struct hwi_analysis *work, const struct hwi_profile *profile, FILE *out,
                          struct hwi_error *error)
{
  const struct hwi_live_run *run = work->run;
  const struct hwi_live_ask *question = &work->question;
  const struct hwi_report report = {
      .profile = profile, .names = run->names, .options = run->report, .replayer = run->replayer, .trace = run->path};
  if (question->form == HWI_LIVE_JSON)
    return hwi_report_json(&report, out, error);
  if (question->form == HWI_LIVE_ROWS)
    return hwi_live_rows_write(&report, &question->rows, out, error);
  if (question->form == HWI_LIVE_PART)
    return hwi_live_endpoints[question->query.endpoint]->write(
        &(struct hwi_live_part_source){&report, &question->query, run->name, work->reply.behind_ns,
                                       work->state == HWI_FOLLOW_OVER},
        out, error);
  if (question->form == HWI_LIVE_HEAP || question->form == HWI_LIVE_ALLOCS)
    return hwi_pprof_write(&report, question->form == HWI_LIVE_ALLOCS, out, error);
  if (question->form == HWI_LIVE_CSV)
    return hwi_export_write(&hwi_export_csv, &(struct hwi_export_request){.report = report, .out = out}, error);
  const struct hwi_page_request request = {
      .runs = &report, .run_count = 1, .form = question->form == HWI_LIVE_HTML ? HWI_PAGE_HTML : HWI_PAGE_DATA};
  return hwi_page_write(&request, out, error);
}

/* In a child: writes the document, or the reason why it cannot be written, and exits. */
static _Noreturn void write_and_exit(const struct hwi_analysis *work)
{
  struct hwi_error error = {.text = "no memory"};
  const struct hwi_profile *profile;
  const int fd = work->document;
  FILE *out = fdopen(fd, "w");
  int status = out ? hwi_follow_profile(work->follow, &profile, &error) : HW_ERR_MEMORY;
  if (status == 0)
    status = write_document(work, profile, out, &error);
  if (status < 0 && ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0)
    (void)!write(fd, error.text, strlen(error.text));
  else if (fflush(out) != 0)
    status = HW_ERR_IO;
  _exit(status < 0 ? EXIT_FAILURE : EXIT_SUCCESS);
}

/* --- the analyst --- */

/* Looks up the names of new frames, so that the writers of documents find them in the symbols' memory. */
static void name_frames(struct hwi_analysis *work)
{
  const struct hwi_symbol *symbols;
  const struct hwi_profile *profile = hwi_follow_frames(work->follow);
  const struct hwi_report report = {.profile = profile, .names = work->run->names};
  struct hwi_named_frames frames;
  if (work->needs_names && work->named < profile->frame_count &&
      hwi_named_frames_init(&frames, &report, NULL) == HW_OK) {
    for (; work->named < profile->frame_count; work->named++)
      (void)!hwi_named_frames_find(&frames, work->named, &symbols);
    hwi_named_frames_release(&frames);
  }
}

/* Returns whether there is something to follow. */
static bool begin_to_follow(struct hwi_analysis *work)
{
  const int status = hwi_follow_create(&work->follow, work->run->path, &work->run->options, &work->error);
  if (status == 0)
    hwi_follow_delay(work->follow, work->delay_ns);
  const bool may_begin = status == HW_ERR_USAGE && hwi_follow_run_goes_on(work->run->path);
  work->state = may_begin ? HWI_FOLLOW_WAITS : status;
  return status == 0;
}

/* Events may have been counted in the wrong order: soon after a thread was stopped in the middle of one, and, as clocks become more
 * exact, those of several processes until the run is over. */
static bool may_be_inexact(const struct hwi_analysis *work)
{
  return hwi_follow_had_late_events(work->follow) ||
         (work->state == HWI_FOLLOW_OVER && hwi_follow_had_new_rates(work->follow));
}

/* If so, all is counted again meanwhile. */
static void follow_afresh(struct hwi_analysis *work)
{
  struct hwi_error error;
  const uint64_t ms = hwi_os_monotonic_ms();
  const bool is_due = work->state == HWI_FOLLOW_OVER ? !work->has_failed : ms >= work->next_fresh_ms;
  if (!work->fresh && may_be_inexact(work) && is_due) {
    work->has_failed = true; /* until it succeeds */
    work->fresh_began_ms = ms;
    work->next_fresh_ms = ms + FRESH_AFTER_MS; /* if it fails */
    if (hwi_follow_create(&work->fresh, work->run->path, &work->run->options, &error) == 0) {
      hwi_follow_delay(work->fresh, work->delay_ns);
      hwi_follow_plan_resets(work->fresh, work->follow);
    } else {
      work->recounts++;
    }
  }
  if (work->state == HWI_FOLLOW_OVER && work->fresh) /* it is over when the figures are final */
    work->state = HWI_FOLLOW_WAITS;
  const int state = work->fresh ? hwi_follow_look(work->fresh, work->events_a_look, &error) : HWI_FOLLOW_MORE;
  if (state == HWI_FOLLOW_MORE)
    return;
  if (state >= 0) {
    hwi_follow_destroy(work->follow);
    work->follow = work->fresh;
    work->state = state;
    work->named = 1;
    work->has_failed = false;
    work->next_fresh_ms =
        hwi_os_monotonic_ms() + FRESH_AFTER_MS + FRESH_SHARE * (hwi_os_monotonic_ms() - work->fresh_began_ms);
  } else {
    hwi_follow_destroy(work->fresh);
  }
  work->fresh = NULL;
  work->recounts++;
}

/* Returns whether what was counted is enough for a question of `asked_ms`. A program may write faster than it can be
 * followed, so a complete answer has all that was written then; and if events were late, they have been counted again.
 * A part of an answer has all that was written when the analyst began: an earlier server may have counted that, and
 * counters must not decrease. */
static bool has_enough(const struct hwi_analysis *work, uint64_t asked_ms)
{
  const uint64_t now_ms = hwi_os_monotonic_ms();
  if (work->question.complete && work->recounts == 0 && work->state >= 0 && work->follow &&
      hwi_follow_had_late_events(work->follow))
    return false;
  if (work->state != HWI_FOLLOW_MORE)
    return true;
  const uint64_t counted_ms = now_ms - hwi_follow_behind_ns(work->follow) / 1000000;
  if (work->run->name && counted_ms <= work->began_ms)
    return false;
  return work->question.complete ? counted_ms > asked_ms : now_ms - asked_ms >= LOOK_BEFORE_ANSWER_MS;
}

void hwi_analysis_look(struct hwi_analysis *work)
{
  const bool is_rare = !work->follow || (work->state == HWI_FOLLOW_OVER && !work->fresh);
  if (work->state < 0 || (is_rare && hwi_os_monotonic_ms() < work->next_look_ms))
    return;
  work->next_look_ms = hwi_os_monotonic_ms() + LOOK_RARELY_EVERY_MS;
  if (!work->follow && !begin_to_follow(work))
    return;
  work->state = hwi_follow_look(work->follow, work->events_a_look, &work->error);
  if (work->state >= 0)
    follow_afresh(work);
  if (work->state >= 0)
    name_frames(work);
}

/* Returns false if the reply cannot be sent. */
static bool reply(struct hwi_analysis *work, bool is_written)
{
  struct hwi_live_reply reply = work->reply;
  const off_t end = work->document >= 0 ? lseek(work->document, 0, SEEK_END) : 0;
  reply.has_document = is_written;
  if (is_written)
    reply.bytes = (uint64_t)end;
  else if (work->state < 0 || !work->follow)
    memcpy(reply.error, work->error.text, sizeof reply.error);
  else if (work->os_error)
    snprintf(reply.error, sizeof reply.error, "cannot start a process that writes the document: %s",
             strerror(work->os_error));
  else if (end <= 0 || pread(work->document, reply.error, sizeof reply.error - 1, 0) <= 0)
    snprintf(reply.error, sizeof reply.error, "the process that writes the document ended");
  const bool sent = hwi_live_send_reply(work->socket, &reply, is_written ? work->document : -1);
  if (work->document >= 0)
    close(work->document);
  work->document = -1;
  work->question.form = 0;
  return sent;
}

/* From now on, documents know what was since now. Writes this moment. */
static bool answer_now(struct hwi_analysis *work)
{
  const uint64_t ns = hwi_follow_now_ns(work->follow);
  hwi_follow_plan_reset(work->follow, ns);
  if (work->fresh)
    hwi_follow_plan_reset(work->fresh, ns);
  work->document = memfd_create("moment", MFD_CLOEXEC);
  const bool is_written = work->document >= 0 && dprintf(work->document, "{\"ns\":%" PRIu64 "}\n", ns) > 0;
  work->os_error = is_written ? 0 : errno;
  return reply(work, is_written);
}

/* In a process that nobody waits for. */
static _Noreturn void be_analyst_of_process(struct hwi_analysis *work, int socket)
{
  struct hwi_live_run run = *work->run;
  run.options.images = HWI_IMAGES_PID;
  run.options.pid = work->question.pid;
  close(work->socket);
  hwi_follow_destroy(work->fresh);
  hwi_follow_destroy(work->follow);
  hwi_analysis_run(&run, socket);
}

static bool answer_with_analyst(struct hwi_analysis *work)
{
  int sockets[2], status;
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0) {
    work->os_error = errno;
    return reply(work, false);
  }
  const pid_t between = fork();
  work->os_error = between < 0 ? errno : 0;
  if (between == 0) {
    close(sockets[0]);
    if (fork() == 0)
      be_analyst_of_process(work, sockets[1]);
    _exit(EXIT_SUCCESS);
  }
  close(sockets[1]);
  if (between > 0)
    waitpid(between, &status, 0);
  work->document = sockets[0];
  return reply(work, between > 0);
}

/* Nothing is read for this, so that a question which waits stays there. */
static bool is_left_alone(const struct hwi_analysis *work)
{
  struct pollfd other_side = {.fd = work->socket};
  return poll(&other_side, 1, 0) > 0;
}

/* A question about a process that has not begun waits for it. Returns false if nobody waits for the answer any more. */
static bool begin_answer(struct hwi_analysis *work)
{
  const uint64_t asked_ms = hwi_os_monotonic_ms();
  if (work->question.form == HWI_LIVE_NONE || work->writer > 0 ||
      (!work->follow && work->state >= 0 && !work->question.complete))
    return true;
  while (!has_enough(work, asked_ms)) {
    if (is_left_alone(work))
      return false;
    hwi_analysis_look(work);
  }
  work->reply = (struct hwi_live_reply){.form = work->question.form, .state = (uint32_t)work->state};
  if (work->state < 0 || !work->follow || work->question.form == HWI_LIVE_STATE)
    return reply(work, false);
  if (work->question.form == HWI_LIVE_NOW)
    return answer_now(work);
  if (work->question.form == HWI_LIVE_PROCESS)
    return answer_with_analyst(work);
  if (work->state != HWI_FOLLOW_OVER)
    work->reply.behind_ns = hwi_follow_behind_ns(work->follow);
  work->question.rows.lag_ns = work->state == HWI_FOLLOW_MORE ? work->reply.behind_ns : 0;
  work->document = memfd_create("document", MFD_CLOEXEC);
  work->writer = work->document < 0 ? -1 : fork();
  work->os_error = work->writer < 0 ? errno : 0;
  if (work->writer == 0)
    write_and_exit(work);
  if (work->writer > 0)
    return true;
  work->writer = 0;
  return reply(work, false);
}

/* Answers when the writer has ended. */
static bool end_answer(struct hwi_analysis *work)
{
  int status;
  if (work->writer == 0 || waitpid(work->writer, &status, WNOHANG) != work->writer)
    return true;
  work->writer = 0;
  return reply(work, WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS);
}

/* From the first such question on, names are looked up as frames come. */
static bool wants_names(const struct hwi_live_ask *question)
{
  return question->form == HWI_LIVE_PART &&
         (hwi_live_endpoints[question->query.endpoint]->needs_names || question->query.numbers[HWI_LIVE_TOP] > 0);
}

void hwi_analysis_serve(struct hwi_analysis *work, int socket)
{
  work->socket = socket;
  for (bool goes_on = true; goes_on;) {
    const bool is_busy = work->state == HWI_FOLLOW_MORE || work->fresh;
    struct pollfd wait = {.fd = work->socket, .events = POLLIN};
    const int ready = poll(&wait, 1,
                           is_busy           ? 0
                           : work->writer    ? 5
                           : work->run->name ? LOOK_RARELY_EVERY_MS
                                             : LOOK_EVERY_MS);
    if (ready > 0 && !hwi_live_take_ask(work->socket, &work->question))
      break;
    work->needs_names |= wants_names(&work->question);
    hwi_analysis_look(work);
    goes_on = begin_answer(work) && end_answer(work);
  }
  if (work->writer > 0 && kill(work->writer, SIGKILL) == 0)
    waitpid(work->writer, NULL, 0);
}

void hwi_analysis_begin(struct hwi_analysis *work, const struct hwi_live_run *run)
{
  *work = (struct hwi_analysis){.run = run,
                                .events_a_look = EVENTS_A_LOOK,
                                .began_ms = hwi_os_monotonic_ms(),
                                .document = -1,
                                .named = 1,
                                .needs_names = !run->name,
                                .state = HWI_FOLLOW_WAITS};
}

void hwi_analysis_hand_over(struct hwi_analysis *work, const struct hwi_live_run *run)
{
  work->run = run;
  work->began_ms = hwi_os_monotonic_ms();
  work->events_a_look = EVENTS_A_LOOK;
  work->delay_ns = 0;
  work->state = HWI_FOLLOW_MORE; /* what was certain for this delay */
  work->recounts = 0;
  work->next_fresh_ms = 0;
  work->has_failed = false;
  hwi_follow_delay(work->follow, 0);
  hwi_follow_forked(work->follow);
  if (work->fresh)
    hwi_follow_forked(work->fresh);
}

void hwi_analysis_run(const struct hwi_live_run *run, int socket)
{
  struct hwi_analysis work;
  setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + NICENESS);
  hwi_os_prefer_to_be_killed();
  hwi_analysis_begin(&work, run);
  hwi_analysis_serve(&work, socket);
  _exit(EXIT_SUCCESS);
}
