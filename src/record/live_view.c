/* live_view.c - the live view of this process, which the program itself starts (heapwright/live.h) */
#include "record/live_view.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "base/text.h"
#include "platform/os.h"
#include "record/session.h"
#include "record/start_texts.h"

#define TOOL "heapwright"

enum { MOST_PATHS = 32, PATHS_BYTES = 16384, SAID_BYTES = 4096, URL_BYTES = 256, ADDRESS_BYTES = 64 };
static const uint64_t patience_ns = UINT64_C(15000000000); /* far more than a start takes */

/* `holder` is the pid of the process whose server this is (another one in a forked child), and in the upper half that of
 * the server: 0 while a thread starts or ends it. To that thread belongs the rest. All 0: there is no server. */
static struct {
  _Atomic uint64_t holder;
  uint64_t server_start;
  char url[URL_BYTES];
} view;

static uint64_t holder_of(uint32_t owner, uint32_t server)
{
  return owner | (uint64_t)server << 32;
}

/* Returns the pid of this process's server, or 0. */
static uint32_t own_server(uint64_t holder)
{
  return (uint32_t)holder == hwi_os_pid() ? (uint32_t)(holder >> 32) : 0;
}

/* Whether this process's server has ended without having been told to. */
static bool is_dead(uint64_t holder)
{
  const uint32_t server = own_server(holder);
  return server && hwi_os_process_start(server) != view.server_start;
}

static const char default_address[] = "127.0.0.1";

/* --- messages --- */

/* What the tool said, or what there is to say. Used by the thread that starts the server. */
static char said[SAID_BYTES];

static void say(size_t bytes)
{
  if (!hwi_session.options.quiet)
    hwi_os_say(said, bytes);
}

static void say_text(const char *first, const char *second, const char *third)
{
  struct hwi_text text = hwi_text_begin(said, sizeof said);
  hwi_text_add(&text, first);
  hwi_text_add(&text, second);
  hwi_text_add(&text, third);
  say(text.bytes);
}

/* --- where the tool is --- */

static const char *paths[MOST_PATHS + 1];
static char path_bytes[PATHS_BYTES];

struct places {
  struct hwi_text text;
  size_t count;
};

/* Adds FOLDER`below`heapwright, unless the folder's name is relative. */
static void add_place(struct places *places, const char *folder, size_t bytes, const char *below)
{
  const char *path = places->text.to + places->text.bytes;
  if (*folder != '/' || places->count == MOST_PATHS)
    return;
  hwi_text_add_bytes(&places->text, folder, bytes);
  hwi_text_add(&places->text, below);
  hwi_text_add_bytes(&places->text, TOOL, sizeof TOOL); /* with its NUL */
  if (!places->text.full)
    paths[places->count++] = path;
  paths[places->count] = NULL;
}

/* The tool's folder, as seen from the folder of this library: where they are installed (cmake/Packaging.cmake), and in the build
 * tree. It must have the same owner: next to a copy in a folder of /tmp, any user can make it. */
static void add_own_places(struct places *places)
{
  static const char below[][sizeof "/" HWI_BIN_FROM_LIB] = {"/" HWI_BIN_FROM_LIB, "/../bin"};
  static char library[HWI_OS_PATH_BYTES + sizeof *below];
  struct hwi_os_module module;
  if (!hwi_os_find_module((uintptr_t)&hwi_live_view_start, &module) || hwi_os_real_path(module.path, library) < 0)
    return;
  const long owner = hwi_os_owner(library);
  char *folder_end = strrchr(library, '/');
  for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
    memcpy(folder_end, below[i], sizeof *below);
    if (hwi_os_owner(library) == owner)
      add_place(places, library, strlen(library), "/");
  }
}

static void find_places(char *const *variables)
{
  static const char name[] = "PATH=";
  struct places places = {.text = hwi_text_begin(path_bytes, sizeof path_bytes)};
  paths[0] = NULL;
  add_own_places(&places);
  for (; *variables; variables++) {
    if (strncmp(*variables, name, sizeof name - 1) != 0)
      continue;
    for (const char *at = *variables + sizeof name - 1, *end; *at; at = *end ? end + 1 : end) {
      end = strchr(at, ':');
      end = end ? end : at + strlen(at);
      add_place(&places, at, (size_t)(end - at), "/");
    }
  }
}

/* --- the server's process --- */

/* The tool must not be recorded itself. */
static void leave_out_own(char **variables)
{
  static const char *const own[] = {"LD_PRELOAD=", "HEAPWRIGHT_"};
  char **to = variables;
  for (char **at = variables; *at; at++)
    if (strncmp(*at, own[0], strlen(own[0])) != 0 && strncmp(*at, own[1], strlen(own[1])) != 0)
      *to++ = *at;
  *to = NULL;
}

static int start_tool(struct hwi_os_apart *apart, const char *address, uint16_t port)
{
  static char address_option[ADDRESS_BYTES], port_option[32];
  struct hwi_text text = hwi_text_begin(address_option, sizeof address_option);
  struct hwi_text port_text = hwi_text_begin(port_option, sizeof port_option);
  struct hwi_start_texts variables = {0};
  hwi_text_add(&text, "--address=");
  hwi_text_add(&text, address);
  hwi_text_add(&port_text, "--port=");
  hwi_text_add_number(&port_text, port);
  if (text.full)
    return -EINVAL;
  const char *const arguments[] = {TOOL, "live", "--within=60s", address_option, port_option, hwi_session.name, NULL};
  int result = -ENOMEM;
  if (hwi_start_texts_read(&variables, hwi_os_environment)) {
    leave_out_own(variables.list);
    find_places(variables.list);
    apart->paths = paths;
    apart->arguments = (char *const *)(uintptr_t)arguments; /* exec does not change them */
    apart->variables = variables.list;
    result = hwi_os_start_apart(apart);
  }
  hwi_start_texts_release(&variables);
  return result;
}

/* Returns the last complete line. */
static const char *last_line(const struct hwi_text *text)
{
  const char *line = text->to + text->bytes;
  if (line > text->to && line[-1] == '\n')
    line--;
  while (line > text->to && line[-1] != '\n')
    line--;
  return line;
}

static bool is_url(const char *line)
{
  return strncmp(line, "http", 4) == 0;
}

static bool is_number(const char *line)
{
  return *line >= '1' && *line <= '9';
}

/* The tool writes messages, and then a line that is the page's address, or the number of an error. */
static bool is_complete(const struct hwi_text *text)
{
  const char *line = last_line(text);
  return text->bytes && text->to[text->bytes - 1] == '\n' && (is_url(line) || is_number(line));
}

static int number_of(const char *line)
{
  int number = 0;
  for (; *line >= '0' && *line <= '9' && number < 1000; line++)
    number = number * 10 + (*line - '0');
  return number;
}

/* Waits until the server listens, and stores the page's address. */
static int take_answer(int output)
{
  const uint64_t until_ns = hwi_os_monotonic_ns() + patience_ns;
  struct hwi_text text = hwi_text_begin(said, sizeof said);
  long got = 1;
  while (got > 0 && !is_complete(&text) && text.bytes < sizeof said - 1) {
    got = hwi_os_read_until(output, said + text.bytes, sizeof said - 1 - text.bytes, until_ns);
    text.bytes += got > 0 ? (size_t)got : 0;
    said[text.bytes] = 0;
  }
  const char *line = last_line(&text);
  const size_t before = (size_t)(line - said);
  if (is_complete(&text) && is_number(line)) {
    say(before);
    return number_of(line);
  }
  if (!is_complete(&text) || text.bytes - before >= sizeof view.url) {
    say(text.bytes);
    return got < 0 ? -(int)got : EIO;
  }
  memcpy(view.url, line, text.bytes - before - 1);
  view.url[text.bytes - before - 1] = 0;
  say(before);
  return 0;
}

static int start_server(const char *address, uint16_t port)
{
  struct hwi_os_apart apart = {0};
  int result = start_tool(&apart, address, port);
  if (result == -ENOENT)
    say_text(TOOL ": no live view: the command ", TOOL,
             " is neither in ../bin from the recorder's library nor in PATH; add its folder to PATH\n");
  if (result < 0)
    return -result;
  result = take_answer(apart.output);
  hwi_os_close(apart.output);
  if (result) {
    hwi_os_end_process(apart.pid, apart.start);
    return result;
  }
  say_text(TOOL ": live at ", view.url, "\n");
  view.server_start = apart.start;
  atomic_store(&view.holder, holder_of(hwi_os_pid(), apart.pid));
  return 0;
}

/* --- the whole --- */

int hwi_live_view_start(const char *address, uint16_t port)
{
  uint64_t before = atomic_load(&view.holder);
  const uint32_t self = hwi_os_pid();
  if (!atomic_load(&hwi_session.liveness->live) && !hwi_session_start())
    return ENOTSUP;
  if (((uint32_t)before == self && !is_dead(before)) ||
      !atomic_compare_exchange_strong(&view.holder, &before, holder_of(self, 0)))
    return EALREADY;
  const int result = start_server(address ? address : default_address, port);
  if (result)
    atomic_store(&view.holder, 0);
  return result;
}

const char *hwi_live_view_url(void)
{
  const uint64_t holder = atomic_load(&view.holder);
  return own_server(holder) && !is_dead(holder) ? view.url : NULL;
}

void hwi_live_view_stop(void)
{
  uint64_t before = atomic_load(&view.holder);
  const uint32_t server = own_server(before);
  if (!server || !atomic_compare_exchange_strong(&view.holder, &before, holder_of(hwi_os_pid(), 0)))
    return;
  hwi_os_end_process(server, view.server_start);
  atomic_store(&view.holder, 0);
}
