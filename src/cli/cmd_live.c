/* cmd_live.c - heapwright live: the heap of a running program */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/followed_run.h"
#include "cli/read_recording.h"
#include "cli/record_options.h"
#include "launch/control.h"
#include "live/browser.h"
#include "live/fleet/serve.h"
#include "live/folder.h"
#include "live/recording.h"
#include "live/server.h"
#include "live/terminal/terminal.h"
#include "platform/os_tools.h"
#include "trace/read/run.h"

struct values {
  struct hwi_reading reading;
  const char *address;
  uint64_t port;
  bool open;
  uint64_t within;
  bool text, page, json, once;
  struct hwi_serve_options serve;
  const char *output;
  struct hwi_recording_values recording;
};

/* What shows a run, besides the terminal: a server of its page, or one for other programs. */
struct outlet {
  struct hwi_live_server *page;
  struct hwi_serve *serve;
  int stop; /* readable when the user ends the command */
};

static const struct values defaults = {.address = "127.0.0.1", .recording = HWI_RECORDING_DEFAULTS};

static const struct hwi_option options[] = {
    {.name = "address",
     HWI_VALUE(TEXT, address),
     .value = "IP",
     .help = "serve the page at this address (default: 127.0.0.1, which only this machine\n"
             "can reach)"},
    {.name = "port",
     HWI_VALUE(COUNT, port),
     .value = "N",
     .help = "serve the page on this port, where an open page finds a new viewer again\n"
             "(default: any that is free)"},
    {.name = "open", HWI_VALUE(ON, open), .help = "open the page in your browser"},
    {.name = "within",
     HWI_VALUE(DURATION, within),
     .value = "TIME",
     .help = "as hw_live_start of heapwright/live.h: end by itself when the run has ended and\n"
             "no page has asked for this long"},
    {.name = "text", HWI_VALUE(ON, text), .help = "show it on the terminal, like top (the default without a display)"},
    {.name = "page", HWI_VALUE(ON, page), .help = "serve the page (the default with a display)"},
    {.name = "json",
     HWI_VALUE(ON, json),
     .help = "print the present state as 'heapwright report --json' would, and end"},
    {.name = "once", HWI_VALUE(ON, once), .help = "print one screen of --text, and end"},
    {.name = "serve",
     HWI_VALUE(TEXT, serve.address),
     .value = "ADDRESS[:PORT]",
     .help = "no page, but figures for other programs, such as Prometheus: http://ADDRESS:PORT/\n"
             "lists them (default port: 9876). Of PID, TRACE or COMMAND, of all recordings in\n"
             "FOLDER or, without any, of all recordings of yours that go on"},
    {.name = "token",
     HWI_VALUE(TEXT, serve.token),
     .value = "FILE",
     .help = "with --serve: answer only to requests with the header 'Authorization: Bearer\n"
             "TOKEN', where TOKEN is the line in FILE. Needed if other machines reach ADDRESS"},
    HWI_READING_PROCESSES(reading, "all of them"),
    {.name = "output",
     .letter = 'o',
     HWI_VALUE(TEXT, output),
     .value = "FILE",
     .help = "the recording of COMMAND (default: heapwright.live.PID.hwt). The options below say\n"
             "how COMMAND is recorded, as those of 'heapwright record'"},
    HWI_RECORDING_OPTIONS(recording),
    {.name = NULL},
};

/* --- what is shown --- */

enum output { PAGE, SERVE, TEXT, TEXT_ONCE, JSON_ONCE };

static bool has_display(void)
{
  return getenv("DISPLAY") || getenv("WAYLAND_DISPLAY");
}

/* Whether an option chooses the page, or says how it is served. */
static bool wants_page(const struct values *values)
{
  return values->page || values->port || values->open || values->within || values->address != defaults.address;
}

static enum output output_of(const struct values *values)
{
  if (values->serve.address)
    return SERVE;
  if (values->json)
    return JSON_ONCE;
  if (values->once)
    return TEXT_ONCE;
  if (values->text)
    return TEXT;
  return wants_page(values) || has_display() || !isatty(STDOUT_FILENO) ? PAGE : TEXT;
}

/* --- once --- */

static int print_json(const struct hwi_analyst *analyst)
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
  return signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Returns whether the user pressed Ctrl-C, which reaches the command, too. A second signal ends this process. */
static bool is_interrupted(int stop)
{
  struct signalfd_siginfo signal;
  const bool has_signal = read(stop, &signal, sizeof signal) == (ssize_t)sizeof signal;
  hwi_os_unblock_signals();
  return has_signal && signal.ssi_signo == SIGINT;
}

/* A program that starts again wants its port back from the server of its earlier run, whose page may still be open. */
static int listen_patiently(const struct values *values, struct hwi_live_server **server, struct hwi_error *error)
{
  enum { ATTEMPTS = 60 };
  static const struct timespec moment = {.tv_nsec = 50000000};
  const uint16_t port = (uint16_t)values->port;
  int status = hwi_live_server_start(server, values->address, port, error);
  if (status == 0 || !values->within || error->os_error != EADDRINUSE)
    return status;
  hwi_live_want_port(port, true);
  for (int i = 0; i < ATTEMPTS && status < 0; i++) {
    nanosleep(&moment, NULL);
    status = hwi_live_server_start(server, values->address, port, error);
  }
  hwi_live_want_port(port, false);
  return status;
}

static int start_server(const struct values *values, struct hwi_live_server **server, struct hwi_browser *browser)
{
  struct hwi_error error = {0};
  char url[HWI_LIVE_URL_BYTES];
  if (listen_patiently(values, server, &error) < 0) {
    hwi_warn("%s", error.text);
    if (values->within) /* for the program that waits */
      printf("%d\n", error.os_error ? error.os_error : ENOMEM);
    return HWI_EXIT_TROUBLE;
  }
  if (values->within)
    hwi_live_server_linger(*server, values->within);
  if (hwi_live_server_is_public(*server))
    hwi_warn(
        "other machines can reach the page; without the token of its address they get nothing, but what is sent is "
        "not encrypted");
  hwi_live_server_url(*server, url);
  printf("%s\n", url);
  fflush(stdout);
  if (values->open && !hwi_browser_open(browser, url))
    hwi_warn("cannot lead a browser to the page: %s; open the address above yourself", strerror(errno));
  return HWI_EXIT_OK;
}

/* --- figures for other programs --- */

static int start_serving(const struct values *values, struct hwi_serve **serve)
{
  struct hwi_error error = {0};
  if (hwi_serve_start(serve, &values->serve, &error) < 0)
    return hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text);
  if (hwi_serve_is_public(*serve))
    hwi_warn(
        "other machines can reach this server; without the token they get nothing, but what is sent is not encrypted");
  printf("http://%s/\n", hwi_serve_host(*serve));
  fflush(stdout);
  return HWI_EXIT_OK;
}

static int start_analyst(const struct values *values, const char *path, const char *name, struct hwi_analyst *analyst,
                         struct hwi_error *error);

static int start_in_fleet(void *context, const char *path, const char *name, struct hwi_analyst *analyst,
                          struct hwi_error *error)
{
  return start_analyst(context, path, name, analyst, error);
}

/* `path`: a run or a folder of recordings; NULL: all recordings of this user. */
static int serve_fleet(const struct values *values, const char *path, const struct outlet *outlet)
{
  struct hwi_error error = {0};
  char folder[HWI_READING_PATH_BYTES] = "";
  struct hwi_fleet fleet = {.start = start_in_fleet, .context = (void *)(uintptr_t)values};
  if (path && hwi_reading_is_folder(path)) {
    snprintf(folder, sizeof folder, "%s", path);
    for (size_t bytes = strlen(folder); bytes > 1 && folder[bytes - 1] == '/'; bytes--)
      folder[bytes - 1] = 0;
    fleet.folder = folder;
  } else {
    fleet.path = path;
  }
  const int status = hwi_serve_run(outlet->serve, &fleet, outlet->stop, &error);
  hwi_fleet_release(&fleet);
  return status < 0 ? hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text) : HWI_EXIT_OK;
}

/* --- the run --- */

/* Shows the run at `path`. */
static int show(const struct values *values, const struct hwi_analyst *analyst, const char *path,
                const struct outlet *outlet)
{
  struct hwi_error error = {0};
  int status;
  switch (output_of(values)) {
  case JSON_ONCE:
    return print_json(analyst);
  case TEXT_ONCE:
    status = hwi_terminal_print(analyst, &error);
    break;
  case TEXT:
    status = hwi_terminal_run(analyst, path, outlet->stop, &error);
    break;
  default:
    status = hwi_live_server_run(outlet->page, analyst, path, outlet->stop, &error);
  }
  return status < 0 ? hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text) : HWI_EXIT_OK;
}

/* `name`: see struct hwi_live_run. Returns 0 or a negative status. */
static int start_analyst(const struct values *values, const char *path, const char *name, struct hwi_analyst *analyst,
                         struct hwi_error *error)
{
  struct hwi_followed_run followed;
  int status = hwi_followed_run_init(&followed, &values->reading, path, error);
  if (status < 0)
    return status;
  followed.run.name = name;
  followed.run.options.history = !values->json && !name;
  status = hwi_analyst_start(analyst, &followed.run, error);
  hwi_followed_run_release(&followed); /* the analyst has its own */
  return status;
}

static int follow(const struct values *values, const char *path, const struct outlet *outlet)
{
  struct hwi_analyst analyst;
  struct hwi_error error = {0};
  if (outlet->serve)
    return serve_fleet(values, path, outlet);
  if (start_analyst(values, path, NULL, &analyst, &error) < 0)
    return hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text);
  const int status = show(values, &analyst, path, outlet);
  hwi_analyst_stop(&analyst);
  return status;
}

/* Says where the recording and the command's output are. */
static void name_files(const char *path, bool goes_on)
{
  printf("the recording is %s%s; what the command writes to the terminal is in %s.out and %s.err\n", path,
         goes_on ? ", and goes on" : "", path, path);
}

/* A command that could not be recorded says why in the file that replaces the terminal. */
static void show_reason(const char *path)
{
  char bytes[1 << 12];
  snprintf(bytes, sizeof bytes, "%s.err", path);
  FILE *file = fopen(bytes, "r");
  for (size_t got; file && (got = fread(bytes, 1, sizeof bytes, file)) > 0;)
    fwrite(bytes, 1, got, stderr);
  if (file)
    fclose(file);
}

static void end_servers(struct outlet *outlet)
{
  if (outlet->page)
    hwi_live_server_stop(outlet->page);
  outlet->page = NULL;
  hwi_serve_stop(outlet->serve);
  outlet->serve = NULL;
}

/* `command` begins with "--". Returns its exit status, unless it cannot be followed. */
static int follow_command(const struct values *values, char *const *command, struct outlet *outlet)
{
  struct hwi_recording recording;
  struct hwi_error error = {0};
  char name[64];
  const bool is_text = output_of(values) == TEXT;
  snprintf(name, sizeof name, "heapwright.live.%d.hwt", (int)getpid());
  struct hwi_recording_words words;
  if (hwi_recording_words_init(&words, &values->recording, command))
    hwi_recording_start(&recording, values->output ? values->output : name, words.list, is_text, &error);
  else
    hwi_error_set(&error, HW_ERR_MEMORY, "no memory");
  hwi_recording_words_release(&words);
  if (error.status < 0)
    return hwi_fail(HWI_EXIT_LAUNCHER, "%s", error.text);
  const bool begins = hwi_recording_begins(&recording, outlet->stop);
  int status = begins ? follow(values, recording.path, outlet) : HWI_EXIT_OK;
  if (is_text && !begins)
    show_reason(recording.path);
  if (status != HWI_EXIT_OK)
    return status;
  end_servers(outlet); /* the command may take long to end */
  const bool goes_on = !is_interrupted(outlet->stop) && !hwi_recording_has_ended(&recording); /* without the viewer */
  if (is_text && begins)
    name_files(recording.path, goes_on);
  return goes_on ? HWI_EXIT_OK : hwi_recording_end(&recording);
}

/* `target`: NULL for the newest recording that goes on. */
static int find_target(const char *target, char *found, size_t found_bytes)
{
  struct hwi_error error = {0};
  struct hwi_run run;
  char *path;
  if ((target ? hwi_control_find(target, &path, &error) : hwi_control_newest(&path, &error)) < 0)
    return hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text);
  int status = hwi_reading_find(path, found, found_bytes);
  free(path);
  if (status != 0)
    return status;
  if (hwi_run_find(&run, found, false, &error) < 0)
    return hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text);
  hwi_run_release(&run);
  return HWI_EXIT_OK;
}

/* The options of a recording need a COMMAND, and are checked before its page is there. Returns 0 or an exit status. */
static int check_recording(const struct values *values, bool has_command)
{
  static char *const none[] = {NULL};
  struct hwi_launch_options wanted;
  struct hwi_save_rule rules[HWI_SAVE_RULES_MAX];
  if (has_command)
    return hwi_recording_wanted(&values->recording, &wanted, rules) == 0 ? 0 : HWI_EXIT_TROUBLE;
  struct hwi_recording_words words;
  int status = 0;
  if (hwi_recording_words_init(&words, &values->recording, none) && words.count > 0)
    status = hwi_fail(HWI_EXIT_TROUBLE,
                      "%.*s is an option of the recording of a COMMAND: heapwright live [options] -- COMMAND",
                      (int)strcspn(*words.list, "="), *words.list);
  hwi_recording_words_release(&words);
  return status;
}

/* Returns 0, or an exit status if the options or words are wrong. */
static int check(const struct values *values, bool has_command, int word_count, char **words)
{
  int status = hwi_reading_check(&values->reading);
  if (status != 0)
    return status;
  if (has_command && word_count == 1)
    return hwi_fail(HWI_EXIT_TROUBLE, "which command? heapwright live [options] -- COMMAND [ARG...]");
  if (!has_command && word_count > 1)
    return hwi_fail(HWI_EXIT_TROUBLE, "live follows one run, not %d; '%s' is one too many", word_count, words[1]);
  if (!has_command && values->output)
    return hwi_fail(HWI_EXIT_TROUBLE, "-o names the recording of a COMMAND: heapwright live -o FILE -- COMMAND");
  if (values->port > UINT16_MAX)
    return hwi_fail(HWI_EXIT_TROUBLE, "--port: ports are numbers up to %d", UINT16_MAX);
  if (values->reading.pid && has_command)
    return hwi_fail(HWI_EXIT_TROUBLE,
                    "--pid chooses a process of a run that is there already, not of a COMMAND that begins");
  if (has_command && (values->json || values->once))
    return hwi_fail(HWI_EXIT_TROUBLE, "%s shows a run that is there already, not a COMMAND that begins",
                    values->json ? "--json" : "--once");
  if (values->text + wants_page(values) + values->json > 1)
    return hwi_fail(HWI_EXIT_TROUBLE, "--text, --json and the options of the page: choose one of them");
  if (values->serve.token && !values->serve.address)
    return hwi_fail(HWI_EXIT_TROUBLE,
                    "--token is of a server for other programs: add --serve ADDRESS; a page has a token");
  if (values->serve.address && (values->text || values->json || values->once || wants_page(values)))
    return hwi_fail(HWI_EXIT_TROUBLE,
                    "--serve has no page and no text; leave out their options, and write the port as in "
                    "--serve 127.0.0.1:9876");
  if (values->serve.address && (values->reading.pid || values->reading.heap))
    return hwi_fail(HWI_EXIT_TROUBLE, "--serve gives the figures of all processes and heaps; leave out %s",
                    values->reading.pid ? "--pid" : "--heap");
  if (values->once && wants_page(values))
    return hwi_fail(HWI_EXIT_TROUBLE, "--once prints --text or --json; a page is no text");
  return check_recording(values, has_command);
}

static int run(const void *given, int word_count, char **words)
{
  const struct values *values = given;
  struct outlet outlet = {.stop = -1};
  struct hwi_browser browser = {0};
  const bool has_command = word_count > 0 && strcmp(words[0], "--") == 0;
  char path[HWI_READING_PATH_BYTES];
  int status = check(values, has_command, word_count, words);
  const enum output output = output_of(values);
  struct hwi_error error = {0};
  if (status == 0 && output == TEXT && hwi_terminal_check(&error) < 0)
    status = hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text);
  const bool is_fleet = output == SERVE && (word_count == 0 || hwi_reading_is_folder(words[0]));
  if (status == 0 && !has_command && !is_fleet)
    status = find_target(word_count == 1 ? words[0] : NULL, path, sizeof path);
  if (status != 0)
    return status;
  outlet.stop = output == PAGE || output == SERVE || output == TEXT ? catch_end() : -1;
  if (output == PAGE)
    status = start_server(values, &outlet.page, &browser);
  if (output == SERVE)
    status = start_serving(values, &outlet.serve);
  if (status == 0)
    status = has_command ? follow_command(values, words, &outlet)
             : is_fleet  ? serve_fleet(values, word_count == 1 ? words[0] : NULL, &outlet)
                         : follow(values, path, &outlet);
  end_servers(&outlet);
  hwi_browser_end(&browser);
  close(outlet.stop);
  return status;
}

const struct hwi_command hwi_command_live = {
    .name = "live",
    .summary = "the heap of a running program, in the browser or on the terminal",
    .usage = "[options] [PID|TRACE|FOLDER|-- COMMAND [ARG...]]",
    .details =
        "Follows a recording while it is written, from outside: the program does not notice, and goes on whatever\n"
        "happens to the viewer. The first line is the address of a page on this machine, which shows all that a report has.\n"
        "Where there is no display, or with --text, it is shown on the terminal instead, like top: what grows is first; ? shows\n"
        "the keys. A COMMAND then writes into files next to its recording.\n"
        "Without PID, TRACE and COMMAND: the newest recording of yours that goes on.\n"
        "\n"
        "examples:\n"
        "  heapwright live -- ./server --port 8080    record a program and look at it meanwhile\n"
        "  heapwright live --sample --keep 1h -- ./server\n"
        "                                             the same for one that never ends, at the cost of a sample\n"
        "  heapwright live 4711                       the recording that process 4711 is part of\n"
        "  heapwright live --text 4711                the same on the terminal\n"
        "  heapwright live --json app.hwt             the present state, for scripts\n"
        "  heapwright live --serve 127.0.0.1:9876     for Prometheus: all recordings of yours that go on\n",
    .options = options,
    .defaults = &defaults,
    .values_bytes = sizeof(struct values),
    .command_after_dashes = true,
    .usage_status = HWI_EXIT_TROUBLE,
    .run = run,
};
