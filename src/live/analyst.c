/* analyst.c - a process that follows a run, and writes documents of what the run holds now */
#include "live/analyst.h"

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
#include <time.h>
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

/* --- messages --- */

struct question {
  uint32_t form; /* enum hwi_live_form */
  uint32_t complete;
  uint32_t pid;                  /* of PROCESS */
  struct hwi_live_question rows; /* of HWI_LIVE_ROWS */
  struct hwi_live_query query;   /* of HWI_LIVE_PART */
};

struct reply {
  uint32_t form, state;
  uint64_t bytes, behind_ns;
  uint32_t has_document; /* its descriptor comes with the reply */
  char error[HWI_ERROR_TEXT_BYTES];
};

static bool send_reply(int to, const struct reply *reply, int document)
{
  union {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr align;
  } control = {.bytes = {0}};
  struct iovec part = {(void *)reply, sizeof *reply};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  if (document >= 0) {
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof control.bytes;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof document);
    memcpy(CMSG_DATA(header), &document, sizeof document);
  }
  return sendmsg(to, &message, MSG_NOSIGNAL) == (ssize_t)sizeof *reply;
}

static bool take_reply(int from, struct reply *reply, int *document)
{
  union {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr align;
  } control;
  struct iovec part = {reply, sizeof *reply};
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
  ssize_t got;
  do
    got = recvmsg(from, &message, MSG_CMSG_CLOEXEC | MSG_WAITALL);
  while (got < 0 && errno == EINTR);
  *document = -1;
  if (got != (ssize_t)sizeof *reply)
    return false;
  const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS)
    memcpy(document, CMSG_DATA(header), sizeof *document);
  return true;
}

/* --- the process that writes a document --- */

struct work {
  const struct hwi_live_run *run;
  int socket;
  struct hwi_follow *follow; /* NULL: the process that is to be followed has not begun */
  int state;                 /* of the last look: enum hwi_follow_state, or a negative status */
  struct hwi_follow *fresh;  /* follows again from the begin, and then replaces the other. NULL: none */
  uint64_t began_ms;         /* of the analyst */
  uint64_t fresh_began_ms, next_fresh_ms;
  bool has_failed; /* the last attempt to do that */
  struct hwi_error error;
  struct question question; /* form 0: none */
  pid_t writer;             /* of the answer; 0: none */
  struct reply reply;       /* what the answer says of the moment when its writer began */
  int document;
  int os_error;          /* why there is no writer; 0: there was one */
  uint64_t next_look_ms; /* before the begin, and after the end: a process of the run may still begin its trace */
  uint32_t named;        /* frames whose names were looked up */
  bool needs_names;      /* documents need them */
};

/* Returns 0 or a negative status. */
static int write_document(const struct work *work, const struct hwi_profile *profile, FILE *out,
                          struct hwi_error *error)
{
  const struct hwi_live_run *run = work->run;
  const struct question *question = &work->question;
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
static _Noreturn void write_and_exit(const struct work *work)
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
static void name_frames(struct work *work)
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
static bool begin_to_follow(struct work *work)
{
  const int status = hwi_follow_create(&work->follow, work->run->path, &work->run->options, &work->error);
  const bool may_begin = status == HW_ERR_USAGE && hwi_follow_run_goes_on(work->run->path);
  work->state = may_begin ? HWI_FOLLOW_WAITS : status;
  return status == 0;
}

/* If a thread was stopped in the middle of an event, its block may have been counted in the wrong order: then all is
 * counted again meanwhile. */
static void follow_afresh(struct work *work)
{
  struct hwi_error error;
  const uint64_t ms = hwi_os_monotonic_ms();
  const bool is_due = work->state == HWI_FOLLOW_OVER ? !work->has_failed : ms >= work->next_fresh_ms;
  if (!work->fresh && hwi_follow_had_late_events(work->follow) && is_due) {
    work->has_failed = true; /* until it succeeds */
    work->fresh_began_ms = ms;
    work->next_fresh_ms = ms + FRESH_AFTER_MS; /* if it fails */
    if (hwi_follow_create(&work->fresh, work->run->path, &work->run->options, &error) == 0)
      hwi_follow_plan_resets(work->fresh, work->follow);
  }
  if (work->state == HWI_FOLLOW_OVER && work->fresh) /* it is over when the figures are final */
    work->state = HWI_FOLLOW_WAITS;
  const int state = work->fresh ? hwi_follow_look(work->fresh, EVENTS_A_LOOK, &error) : HWI_FOLLOW_MORE;
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
}

/* Returns whether what was counted is enough for a question of `asked_ms`. A program may write faster than it can be
 * followed, so a complete answer has all that was written then. A part of an answer has all that was written when the
 * analyst began: an earlier server may have counted that, and counters must not decrease. */
static bool has_enough(const struct work *work, uint64_t asked_ms)
{
  const uint64_t now_ms = hwi_os_monotonic_ms();
  if (work->state != HWI_FOLLOW_MORE)
    return true;
  const uint64_t counted_ms = now_ms - hwi_follow_behind_ns(work->follow) / 1000000;
  if (work->run->name && counted_ms <= work->began_ms)
    return false;
  return work->question.complete ? counted_ms > asked_ms : now_ms - asked_ms >= LOOK_BEFORE_ANSWER_MS;
}

static void look(struct work *work)
{
  const bool is_rare = !work->follow || (work->state == HWI_FOLLOW_OVER && !work->fresh);
  if (work->state < 0 || (is_rare && hwi_os_monotonic_ms() < work->next_look_ms))
    return;
  work->next_look_ms = hwi_os_monotonic_ms() + LOOK_RARELY_EVERY_MS;
  if (!work->follow && !begin_to_follow(work))
    return;
  work->state = hwi_follow_look(work->follow, EVENTS_A_LOOK, &work->error);
  if (work->state >= 0)
    follow_afresh(work);
  if (work->state >= 0)
    name_frames(work);
}

/* Returns false if the reply cannot be sent. */
static bool reply(struct work *work, bool is_written)
{
  struct reply reply = work->reply;
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
  const bool sent = send_reply(work->socket, &reply, is_written ? work->document : -1);
  if (work->document >= 0)
    close(work->document);
  work->document = -1;
  work->question.form = 0;
  return sent;
}

/* From now on, documents know what was since now. Writes this moment. */
static bool answer_now(struct work *work)
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

static _Noreturn void be_analyst(const struct hwi_live_run *run, int socket);

/* In a process that nobody waits for. */
static _Noreturn void be_analyst_of_process(struct work *work, int socket)
{
  struct hwi_live_run run = *work->run;
  run.options.images = HWI_IMAGES_PID;
  run.options.pid = work->question.pid;
  close(work->socket);
  hwi_follow_destroy(work->fresh);
  hwi_follow_destroy(work->follow);
  be_analyst(&run, socket);
}

static bool answer_with_analyst(struct work *work)
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

/* A question about a process that has not begun waits for it. */
static bool begin_answer(struct work *work)
{
  const uint64_t asked_ms = hwi_os_monotonic_ms();
  if (work->question.form == HWI_LIVE_NONE || work->writer > 0 ||
      (!work->follow && work->state >= 0 && !work->question.complete))
    return true;
  while (!has_enough(work, asked_ms))
    look(work);
  work->reply = (struct reply){.form = work->question.form, .state = (uint32_t)work->state};
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
static bool end_answer(struct work *work)
{
  int status;
  if (work->writer == 0 || waitpid(work->writer, &status, WNOHANG) != work->writer)
    return true;
  work->writer = 0;
  return reply(work, WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS);
}

/* From the first such question on, names are looked up as frames come. */
static bool wants_names(const struct question *question)
{
  return question->form == HWI_LIVE_PART &&
         (hwi_live_endpoints[question->query.endpoint]->needs_names || question->query.numbers[HWI_LIVE_TOP] > 0);
}

static void serve(struct work *work)
{
  for (bool goes_on = true; goes_on;) {
    const bool is_busy = work->state == HWI_FOLLOW_MORE || work->fresh;
    struct pollfd wait = {.fd = work->socket, .events = POLLIN};
    const int ready = poll(&wait, 1,
                           is_busy           ? 0
                           : work->writer    ? 5
                           : work->run->name ? LOOK_RARELY_EVERY_MS
                                             : LOOK_EVERY_MS);
    if (ready > 0 && recv(work->socket, &work->question, sizeof work->question, 0) != sizeof work->question)
      return;
    work->needs_names |= wants_names(&work->question);
    look(work);
    goes_on = begin_answer(work) && end_answer(work);
  }
}

static _Noreturn void be_analyst(const struct hwi_live_run *run, int socket)
{
  struct work work = {.run = run,
                      .began_ms = hwi_os_monotonic_ms(),
                      .socket = socket,
                      .document = -1,
                      .named = 1,
                      .needs_names = !run->name,
                      .state = HWI_FOLLOW_WAITS};
  setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + NICENESS);
  hwi_os_prefer_to_be_killed();
  serve(&work);
  if (work.writer > 0 && kill(work.writer, SIGKILL) == 0)
    waitpid(work.writer, NULL, 0);
  _exit(EXIT_SUCCESS);
}

/* --- from outside --- */

/* Closes all other files, so that connections end when the server ends them. Returns the new number of `fd`. */
static int keep_only(int fd)
{
  enum { KEPT = STDERR_FILENO + 1 };
  if (fd != KEPT && dup2(fd, KEPT) != KEPT)
    return fd;
  hwi_os_close_from(KEPT + 1);
  return KEPT;
}

int hwi_analyst_start(struct hwi_analyst *analyst, const struct hwi_live_run *run, struct hwi_error *error)
{
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
    return hwi_error_set(error, HW_ERR_IO, "cannot connect to a process that follows the run: %s", strerror(errno));
  analyst->pid = fork();
  if (analyst->pid == 0) {
    hwi_os_end_with_parent(); /* also if it does not look at its socket */
    be_analyst(run, keep_only(sockets[1]));
  }
  const int os_error = errno;
  close(sockets[1]);
  analyst->socket = sockets[0];
  if (analyst->pid > 0)
    return 0;
  close(sockets[0]);
  errno = os_error;
  return hwi_error_set(error, HW_ERR_IO, "cannot start a process that follows the run: %s", strerror(os_error));
}

static bool ask(const struct hwi_analyst *analyst, const struct question *question)
{
  return send(analyst->socket, question, sizeof *question, MSG_NOSIGNAL) == (ssize_t)sizeof *question;
}

bool hwi_analyst_ask(const struct hwi_analyst *analyst, enum hwi_live_form form, bool complete)
{
  return ask(analyst, &(struct question){.form = form, .complete = complete});
}

bool hwi_analyst_ask_rows(const struct hwi_analyst *analyst, const struct hwi_live_question *rows, bool complete)
{
  return ask(analyst, &(struct question){.form = HWI_LIVE_ROWS, .complete = complete, .rows = *rows});
}

bool hwi_analyst_ask_part(const struct hwi_analyst *analyst, const struct hwi_live_query *query)
{
  return ask(analyst, &(struct question){.form = HWI_LIVE_PART, .query = *query});
}

bool hwi_analyst_ask_for_process(const struct hwi_analyst *analyst, uint32_t pid)
{
  return ask(analyst, &(struct question){.form = HWI_LIVE_PROCESS, .pid = pid});
}

bool hwi_analyst_take(const struct hwi_analyst *analyst, struct hwi_live_answer *answer)
{
  struct reply reply;
  int fd;
  if (!take_reply(analyst->socket, &reply, &fd))
    return false;
  *answer = (struct hwi_live_answer){.form = (enum hwi_live_form)reply.form,
                                     .fd = fd,
                                     .bytes = reply.bytes,
                                     .state = (enum hwi_follow_state)reply.state,
                                     .behind_ns = reply.behind_ns};
  memcpy(answer->error, reply.error, sizeof answer->error);
  return true;
}

void hwi_analyst_stop(struct hwi_analyst *analyst)
{
  enum { ATTEMPTS = 100 };
  static const struct timespec moment = {.tv_nsec = 10000000};
  close(analyst->socket);
  for (int i = 0; i < ATTEMPTS; i++) {
    if (waitpid(analyst->pid, NULL, WNOHANG) != 0)
      return;
    nanosleep(&moment, NULL);
  }
  kill(analyst->pid, SIGKILL);
  while (waitpid(analyst->pid, NULL, 0) < 0 && errno == EINTR)
    ;
}
