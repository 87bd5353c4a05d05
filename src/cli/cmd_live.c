/* cmd_live.c - heapwright live: the heap of a running program */
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/answer.h"
#include "cli/ranking_options.h"
#include "cli/read_recording.h"
#include "launch/control.h"
#include "live/server.h"
#include "symbols/symbols.h"

struct values {
  struct hwi_reading reading;
  uint64_t port;
  bool once;
  struct hwi_answer answer;
};

static const struct values defaults = {0};

static const struct hwi_option options[] = {
    {.name = "port",
     HWI_VALUE(COUNT, port),
     .value = "N",
     .help = "serve the page on this port of 127.0.0.1 (default: any that is free)"},
    {.name = "json",
     HWI_VALUE(ON, once),
     .help = "print the present state as 'heapwright report --json' would, and end"},
    HWI_READING_PROCESSES(reading),
    {.name = NULL},
};

/* --- once --- */

static int print_once(const struct hwi_analyst *analyst)
{
  struct hwi_live_answer answer;
  if (!hwi_analyst_ask(analyst, HWI_LIVE_JSON, true) || !hwi_analyst_take(analyst, &answer))
    return hwi_fail(HWI_EXIT_TROUBLE, "the process that follows the run has ended");
  if (answer.fd < 0)
    return hwi_fail(HWI_EXIT_TROUBLE, "%s", answer.error);
  char bytes[1 << 14];
  ssize_t got;
  lseek(answer.fd, 0, SEEK_SET);
  while ((got = read(answer.fd, bytes, sizeof bytes)) > 0)
    fwrite(bytes, 1, (size_t)got, stdout);
  close(answer.fd);
  return HWI_EXIT_OK;
}

/* --- the page --- */

/* Returns a descriptor that is readable when the user ends the command, or -1. */
static int catch_end(void)
{
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGHUP);
  sigprocmask(SIG_BLOCK, &ends, NULL);
  return signalfd(-1, &ends, SFD_CLOEXEC);
}

static int serve(const struct values *values, const struct hwi_analyst *analyst, int stop)
{
  struct hwi_live_server *server;
  struct hwi_error error = {0};
  char url[HWI_LIVE_URL_BYTES];
  if (hwi_live_server_start(&server, (uint16_t)values->port, analyst, &error) < 0)
    return hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text);
  hwi_live_server_url(server, url);
  printf("%s\n", url);
  fflush(stdout);
  int status = hwi_live_server_run(server, stop, &error);
  hwi_live_server_stop(server);
  return status < 0 ? hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text) : HWI_EXIT_OK;
}

static int follow(const struct values *values, const char *path)
{
  struct hwi_symbols *symbols;
  struct hwi_analyst analyst;
  struct hwi_error error = {0};
  struct hwi_reading reading = values->reading;
  reading.children = reading.pid == 0;
  struct hwi_reading_source source = {&reading, path};
  int status = hwi_reading_symbols_of(&values->reading, path, &symbols);
  if (status != 0)
    return status;
  static const struct hwi_ranking usual = HWI_RANKING_DEFAULTS;
  const struct hwi_live_run run = {
      .path = path,
      .options = {.images = reading.pid ? HWI_IMAGES_PID : HWI_IMAGES_ALL,
                  .pid = (uint32_t)reading.pid,
                  .heap = reading.heap,
                  .instance_details = true},
      .report = hwi_ranking_options(&usual),
      .names = hwi_reading_names(symbols),
      .replayer = hwi_reading_replayer(&source),
  };
  const int stop = catch_end();
  if (hwi_analyst_start(&analyst, &run, &error) < 0) {
    status = hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text);
  } else {
    status = values->once ? print_once(&analyst) : serve(values, &analyst, stop);
    hwi_analyst_stop(&analyst);
  }
  close(stop);
  hwi_symbols_destroy(symbols);
  return status;
}

static int run(const void *given, int word_count, char **words)
{
  const struct values *values = given;
  struct hwi_error error = {0};
  char *path;
  int status = hwi_reading_check(&values->reading);
  if (status != 0)
    return status;
  if (word_count > 1)
    return hwi_fail(HWI_EXIT_TROUBLE, "live follows one run, not %d; '%s' is one too many", word_count, words[1]);
  if (values->port > UINT16_MAX)
    return hwi_fail(HWI_EXIT_TROUBLE, "--port: ports are numbers up to %d", UINT16_MAX);
  if (hwi_control_find(word_count == 1 ? words[0] : ".", &path, &error) < 0)
    return hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text);
  char found[HWI_READING_PATH_BYTES];
  status = hwi_reading_find(path, found, sizeof found);
  free(path);
  return status == 0 ? follow(values, found) : status;
}

const struct hwi_command hwi_command_live = {
    .name = "live",
    .summary = "the heap of a running program, in the browser",
    .usage = "[options] [PID|TRACE]",
    .details =
        "Follows a recording while it is written, from outside: the program does not notice. Prints the address of a page\n"
        "on this machine, which shows all that a report has, and moves. Without PID or TRACE: the newest recording here.\n"
        "\n"
        "examples:\n"
        "  heapwright record ./server & heapwright live\n"
        "  heapwright live 4711                       the recording that process 4711 is part of\n"
        "  heapwright live --json app.hwt             the present state, for scripts\n",
    .options = options,
    .defaults = &defaults,
    .values_bytes = sizeof(struct values),
    .usage_status = HWI_EXIT_TROUBLE,
    .run = run,
};
