/* analyst.c - a process that follows a run, seen from the process that asks it */
#include "live/analyst.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "live/analysis.h"
#include "live/resident.h"
#include "platform/os_tools.h"

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
  const int joined = run->is_usual ? hwi_resident_join(run) : -1;
  *analyst = (struct hwi_analyst){.pid = 0, .socket = joined};
  if (joined >= 0)
    return 0;
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
    return hwi_error_set(error, HW_ERR_IO, "cannot connect to a process that follows the run: %s", strerror(errno));
  analyst->pid = fork();
  if (analyst->pid == 0) {
    hwi_os_end_with_parent(); /* also if it does not look at its socket */
    hwi_analysis_run(run, keep_only(sockets[1]));
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

bool hwi_analyst_ask(const struct hwi_analyst *analyst, enum hwi_live_form form, bool complete)
{
  return hwi_live_send_ask(analyst->socket, &(struct hwi_live_ask){.form = form, .complete = complete});
}

bool hwi_analyst_ask_rows(const struct hwi_analyst *analyst, const struct hwi_live_question *rows, bool complete)
{
  return hwi_live_send_ask(analyst->socket,
                           &(struct hwi_live_ask){.form = HWI_LIVE_ROWS, .complete = complete, .rows = *rows});
}

bool hwi_analyst_ask_part(const struct hwi_analyst *analyst, const struct hwi_live_query *query)
{
  return hwi_live_send_ask(analyst->socket, &(struct hwi_live_ask){.form = HWI_LIVE_PART, .query = *query});
}

bool hwi_analyst_ask_for_process(const struct hwi_analyst *analyst, uint32_t pid)
{
  return hwi_live_send_ask(analyst->socket, &(struct hwi_live_ask){.form = HWI_LIVE_PROCESS, .pid = pid});
}

bool hwi_analyst_take(const struct hwi_analyst *analyst, struct hwi_live_answer *answer)
{
  struct hwi_live_reply reply;
  int fd;
  if (!hwi_live_take_reply(analyst->socket, &reply, &fd))
    return false;
  *answer = (struct hwi_live_answer){.form = (enum hwi_live_form)reply.form,
                                     .fd = fd,
                                     .bytes = reply.bytes,
                                     .state = (enum hwi_follow_state)reply.state,
                                     .behind_ns = reply.behind_ns};
  memcpy(answer->error, reply.error, sizeof answer->error);
  return true;
}

static void end_child(pid_t pid)
{
  kill(pid, SIGKILL);
  while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
    ;
}

void hwi_analyst_stop(struct hwi_analyst *analyst)
{
  enum { ATTEMPTS = 100 };
  static const struct timespec moment = {.tv_nsec = 10000000};
  close(analyst->socket);
  if (!analyst->pid)
    return;
  for (int i = 0; i < ATTEMPTS; i++) {
    if (waitpid(analyst->pid, NULL, WNOHANG) != 0)
      return;
    nanosleep(&moment, NULL);
  }
  end_child(analyst->pid);
}

void hwi_analyst_end(struct hwi_analyst *analyst)
{
  close(analyst->socket);
  if (analyst->pid)
    end_child(analyst->pid);
}
