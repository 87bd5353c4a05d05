/* server.c - serves the page of a running program, and what it shows, on this machine */
#include "live/server.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launch/control.h"
#include "live/fleet/pprof.h"
#include "live/folder.h"
#include "live/http.h"
#include "live/saving.h"
#include "live/source.h"
#include "live/token.h"
#include "page/page.h"
#include "platform/os.h"
#include "report/words/memory_stream.h"
#include "trace/read/run.h"

enum {
  STATE_EVERY_MS = 1000,
  SOURCES_MAX = 9,
  UNUSED_MS = 600000, /* a source that nobody asks for so long ends, unless it is the whole run */
};

/* A request that waits for a document. */
struct waiter {
  struct hwi_http_waiter http;
  struct hwi_live_source *source;
  enum hwi_live_form form;
  bool is_asked; /* the work on its document began after it came */
};

struct hwi_live_server {
  struct hwi_http http;
  const char *path; /* of the run */
  char token[HWI_LIVE_TOKEN_CHARS + 1];
  struct hwi_live_source sources[SOURCES_MAX]; /* the first one is the whole run */
  struct hwi_live_source *awaited;             /* the first one's analyst was asked for the analyst of this one */
  struct hwi_saving saving;
  uint64_t linger_ms; /* see hwi_live_server_linger; 0: for ever */
};

static struct waiter *first(const struct hwi_live_server *server)
{
  return (struct waiter *)server->http.waiters;
}

static struct waiter *after(const struct waiter *waiter)
{
  return (struct waiter *)waiter->http.next;
}

/* --- answers --- */

static enum MHD_Result answer_page(const struct hwi_live_server *server, struct MHD_Connection *connection)
{
  struct hwi_memory_stream page = {0};
  FILE *out = hwi_memory_stream_begin(&page);
  if (out)
    hwi_page_write_live(server->token, out);
  const bool done = out && hwi_memory_stream_end(&page, out);
  struct MHD_Response *response = done ? hwi_http_response(page.text, page.bytes) : NULL;
  hwi_memory_stream_release(&page);
  return hwi_http_answer(connection, MHD_HTTP_OK, response, "text/html; charset=utf-8");
}

static enum MHD_Result answer_document(const struct hwi_live_document *document, struct MHD_Connection *connection,
                                       enum hwi_live_form form)
{
  char number[24], behind_ms[24];
  if (document->fd < 0)
    return hwi_http_say(connection, MHD_HTTP_SERVICE_UNAVAILABLE, document->error);
  struct MHD_Response *response = hwi_http_response_of_file(document->fd, document->bytes);
  snprintf(number, sizeof number, "%llu", (unsigned long long)document->number);
  snprintf(behind_ms, sizeof behind_ms, "%llu", (unsigned long long)document->behind_ms);
  hwi_http_add_header(response, "Heapwright-Number", number);
  hwi_http_add_header(response, "Heapwright-Behind-Ms", behind_ms);
  hwi_http_add_header(response, "Heapwright-State", document->state == HWI_FOLLOW_OVER ? "over" : "running");
  return hwi_http_answer(connection, MHD_HTTP_OK, response,
                         form == HWI_LIVE_HTML                              ? "text/html; charset=utf-8"
                         : form == HWI_LIVE_CSV                             ? "text/csv; charset=utf-8"
                         : form == HWI_LIVE_HEAP || form == HWI_LIVE_ALLOCS ? HWI_PPROF_TYPE
                                                                            : "application/json");
}

/* --- requests --- */

/* Answers a request at once. */
typedef enum MHD_Result (*act_function)(const struct hwi_live_server *server, struct MHD_Connection *connection);

static enum MHD_Result control(const struct hwi_live_server *server, struct MHD_Connection *connection,
                               enum hwi_control_action action, const char *text)
{
  const struct hwi_control_request request = {.target = server->path, .action = action, .text = text};
  struct hwi_controlled controlled;
  struct hwi_error error = {0};
  if (hwi_control(&request, &controlled, &error) < 0)
    return hwi_http_say(connection, MHD_HTTP_CONFLICT, error.text);
  return hwi_http_say(connection, MHD_HTTP_OK, "");
}

static enum MHD_Result record_on(const struct hwi_live_server *server, struct MHD_Connection *connection)
{
  return control(server, connection, HWI_CONTROL_ON, NULL);
}

static enum MHD_Result record_off(const struct hwi_live_server *server, struct MHD_Connection *connection)
{
  return control(server, connection, HWI_CONTROL_OFF, NULL);
}

static enum MHD_Result mark(const struct hwi_live_server *server, struct MHD_Connection *connection)
{
  const char *text = hwi_http_argument(connection, "text");
  text = text && *text ? text : "mark";
  if (strlen(text) > HWI_CONTROL_TEXT_BYTES)
    return hwi_http_say(connection, MHD_HTTP_URI_TOO_LONG, "the text of a mark has at most 1,024 bytes\n");
  return control(server, connection, HWI_CONTROL_MARK, text);
}

static enum MHD_Result list_profiles(const struct hwi_live_server *server, struct MHD_Connection *connection)
{
  static const char list[] = HWI_PPROF_HEAP "\n" HWI_PPROF_ALLOCS "\n";
  (void)server;
  return hwi_http_say(connection, MHD_HTTP_OK, list);
}

static const struct route {
  const char *method, *path;
  enum hwi_live_form form; /* what is answered when the analyst has it */
  act_function act;        /* if there is no form */
} routes[] = {
    {MHD_HTTP_METHOD_GET, "/", HWI_LIVE_NONE, answer_page},
    {MHD_HTTP_METHOD_GET, "/document", HWI_LIVE_DATA, NULL},
    {MHD_HTTP_METHOD_GET, "/report.html", HWI_LIVE_HTML, NULL},
    {MHD_HTTP_METHOD_GET, "/report.json", HWI_LIVE_JSON, NULL},
    {MHD_HTTP_METHOD_GET, "/stacks.csv", HWI_LIVE_CSV, NULL},
    {MHD_HTTP_METHOD_GET, HWI_PPROF_FOLDER, HWI_LIVE_NONE, list_profiles},
    {MHD_HTTP_METHOD_GET, HWI_PPROF_HEAP, HWI_LIVE_HEAP, NULL},
    {MHD_HTTP_METHOD_GET, HWI_PPROF_ALLOCS, HWI_LIVE_ALLOCS, NULL},
    {MHD_HTTP_METHOD_POST, "/now", HWI_LIVE_NOW, NULL},
    {MHD_HTTP_METHOD_POST, "/save", HWI_LIVE_SAVED, NULL},
    {MHD_HTTP_METHOD_POST, "/on", HWI_LIVE_NONE, record_on},
    {MHD_HTTP_METHOD_POST, "/off", HWI_LIVE_NONE, record_off},
    {MHD_HTTP_METHOD_POST, "/mark", HWI_LIVE_NONE, mark},
};

/* Returns the route with the path, if possible one with the method; or NULL. */
static const struct route *find_route(const char *method, const char *path)
{
  const struct route *found = NULL;
  for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
    if (strcmp(routes[i].path, path) == 0 && (!found || strcmp(routes[i].method, method) == 0))
      found = &routes[i];
  return found;
}

/* Returns the number of the last document that the client has, or 0. */
static uint64_t last_number(struct MHD_Connection *connection)
{
  const char *after = hwi_http_argument(connection, "after");
  return after ? strtoull(after, NULL, 10) : 0;
}

static bool is_waited_for(const struct hwi_live_server *server, const struct hwi_live_source *source)
{
  const struct waiter *waiter = first(server);
  while (waiter && waiter->source != source)
    waiter = after(waiter);
  return waiter || (source == server->awaited && server->sources[0].is_asked);
}

/* Why there is no source for a request. */
static const struct refusal {
  unsigned status;
  const char *reason;
} no_process = {MHD_HTTP_NOT_FOUND, "the run has no such process\n"},
  too_many = {MHD_HTTP_SERVICE_UNAVAILABLE, "too many processes of the run are looked at; ask again later\n"};

/* Returns the source of a process, or NULL, and sets *refused to why. If there are too many, the one that was asked longest
 * ago, and is not waited for, makes room. */
static struct hwi_live_source *source_of(struct hwi_live_server *server, uint32_t pid, const struct refusal **refused)
{
  struct hwi_live_source *oldest = NULL;
  for (int i = 0; i < SOURCES_MAX; i++) {
    struct hwi_live_source *source = &server->sources[i];
    if (source->is_used && source->pid == pid)
      return source;
    if (i > 0 && !is_waited_for(server, source) && (!oldest || source->requested_ms < oldest->requested_ms))
      oldest = source; /* one that is not used was asked at 0 */
  }
  *refused = !hwi_run_has_process(server->path, pid) ? &no_process : oldest ? NULL : &too_many;
  if (*refused)
    return NULL;
  hwi_live_source_end(oldest);
  hwi_live_source_begin(oldest, pid, NULL);
  return oldest;
}

/* Returns the source that a request is about: the run, or the process that it names. NULL: *refused is why. */
static struct hwi_live_source *find_source(struct hwi_live_server *server, struct MHD_Connection *connection,
                                           const struct refusal **refused)
{
  const char *given = hwi_http_argument(connection, "pid");
  char *end;
  if (!given)
    return server->sources;
  errno = 0;
  const unsigned long pid = strtoul(given, &end, 10);
  const bool is_pid = *given >= '1' && *given <= '9' && *end == 0 && errno == 0 && pid <= INT32_MAX;
  *refused = &no_process;
  return is_pid ? source_of(server, (uint32_t)pid, refused) : NULL;
}

static enum MHD_Result wait_for(struct hwi_live_server *server, struct MHD_Connection *connection,
                                struct hwi_live_source *source, enum hwi_live_form form, struct waiter **place)
{
  struct waiter *waiter = calloc(1, sizeof *waiter);
  if (!waiter)
    return MHD_NO;
  *waiter = (struct waiter){.source = source, .form = form};
  *place = waiter;
  hwi_http_wait(&server->http, &waiter->http, connection);
  return MHD_YES;
}

/* Called twice for a request that waits: when it came, and when its document is there. */
static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *path, const char *method,
                              const char *version, const char *upload, size_t *upload_bytes, void **place)
{
  struct hwi_live_server *server = context;
  struct waiter *waiter = *place;
  (void)version;
  (void)upload;
  if (waiter)
    return answer_document(&waiter->source->documents[waiter->form], connection, waiter->form);
  const char *token = hwi_http_argument(connection, "token");
  if (!hwi_http_is_own(&server->http, connection))
    return hwi_http_say(connection, MHD_HTTP_FORBIDDEN, "this server answers only to pages of its own\n");
  if (!hwi_live_token_is(server->token, token))
    return hwi_http_say(connection, MHD_HTTP_FORBIDDEN, "the address lacks the token that heapwright live printed\n");
  hwi_strangers_forget(&server->http.strangers, connection);
  const struct route *route = find_route(method, path);
  if (!route)
    return hwi_http_say(connection, MHD_HTTP_NOT_FOUND, "there is no such page\n");
  if (strcmp(method, route->method) != 0 || *upload_bytes)
    return hwi_http_say(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "this address takes another method\n");
  server->sources[0].requested_ms = hwi_os_monotonic_ms();
  if (route->act)
    return route->act(server, connection);
  if ((route->form == HWI_LIVE_HEAP || route->form == HWI_LIVE_ALLOCS) && hwi_http_argument(connection, "seconds"))
    return hwi_http_say(connection, MHD_HTTP_BAD_REQUEST,
                        "seconds= is for heapwright live --serve; here, give pprof an earlier profile with -base\n");
  const struct refusal *refused;
  struct hwi_live_source *source =
      route->form == HWI_LIVE_SAVED ? server->sources : find_source(server, connection, &refused);
  if (!source)
    return hwi_http_say(connection, refused->status, refused->reason);
  source->requested_ms = hwi_os_monotonic_ms();
  if (hwi_live_source_is_fresh(source, route->form, last_number(connection)))
    return answer_document(&source->documents[route->form], connection, route->form);
  return wait_for(server, connection, source, route->form, (struct waiter **)place);
}

static void end_request(void *context, struct MHD_Connection *connection, void **place,
                        enum MHD_RequestTerminationCode code)
{
  struct hwi_live_server *server = context;
  struct waiter *waiter = *place;
  (void)connection;
  (void)code;
  if (waiter)
    hwi_http_end_waiter(&server->http, &waiter->http);
  free(waiter);
  *place = NULL;
}

/* --- documents --- */

/* Returns the form that the oldest request of a source waits for; the list begins with the newest. */
static enum hwi_live_form wanted_form(const struct hwi_live_server *server, const struct hwi_live_source *source)
{
  enum hwi_live_form form = HWI_LIVE_NONE;
  for (const struct waiter *waiter = first(server); waiter; waiter = after(waiter))
    if (!waiter->http.is_served && waiter->source == source && waiter->form != HWI_LIVE_SAVED)
      form = waiter->form;
  const bool wants_state =
      source == server->sources && server->linger_ms && hwi_os_monotonic_ms() - source->answered_ms >= STATE_EVERY_MS;
  return form == HWI_LIVE_NONE && wants_state ? HWI_LIVE_STATE : form;
}

/* Asks the run's analyst for one of a process that has none. Returns false if it is gone. */
static bool ask_for_analyst(struct hwi_live_server *server)
{
  struct hwi_live_source *run = server->sources;
  for (int i = 1; i < SOURCES_MAX && !run->is_asked; i++) {
    struct hwi_live_source *source = &server->sources[i];
    if (!source->is_used || source->analyst.socket >= 0 || wanted_form(server, source) == HWI_LIVE_NONE)
      continue;
    server->awaited = source;
    run->is_asked = true;
    return hwi_analyst_ask_for_process(&run->analyst, source->pid);
  }
  return true;
}

static void note_asked(struct hwi_live_server *server, const struct hwi_live_source *source, enum hwi_live_form form)
{
  for (struct waiter *waiter = first(server); waiter; waiter = after(waiter))
    waiter->is_asked |= waiter->source == source && waiter->form == form;
}

/* Asks a source for what its requests wait for, unless its analyst is at work. Returns false if the analyst is gone. */
static bool ask(struct hwi_live_server *server, struct hwi_live_source *source)
{
  const enum hwi_live_form form = wanted_form(server, source);
  if (source->is_asked || form == HWI_LIVE_NONE || source->analyst.socket < 0)
    return true;
  note_asked(server, source, form);
  source->is_asked = true;
  return hwi_analyst_ask(&source->analyst, form, false);
}

/* Those that came before the work on the document began. `form` NONE: all. */
static void resume_waiters(struct hwi_live_server *server, const struct hwi_live_source *source,
                           enum hwi_live_form form)
{
  for (struct waiter *waiter = first(server); waiter; waiter = after(waiter)) {
    const bool is_meant = form == HWI_LIVE_NONE || (waiter->form == form && waiter->is_asked);
    if (waiter->source == source && is_meant)
      hwi_http_serve_waiter(&server->http, &waiter->http);
  }
}

static void fail(struct hwi_live_server *server, struct hwi_live_source *source, const char *why)
{
  hwi_live_source_fail(source, why);
  resume_waiters(server, source, HWI_LIVE_NONE);
}

/* Returns false if the analyst is gone. */
static bool take(struct hwi_live_server *server, struct hwi_live_source *source)
{
  struct hwi_live_answer answer;
  if (!hwi_analyst_take(&source->analyst, &answer))
    return false;
  if (answer.form != HWI_LIVE_PROCESS) {
    hwi_live_source_store(source, &answer);
    resume_waiters(server, source, answer.form);
    return true;
  }
  source->is_asked = false;
  server->awaited->analyst.socket = answer.fd;
  if (answer.fd < 0)
    fail(server, server->awaited, answer.error);
  return true;
}

/* Serves one source. Returns false if the run's analyst is gone. */
static bool serve_source(struct hwi_live_server *server, struct hwi_live_source *source, bool has_answer)
{
  if ((!has_answer || take(server, source)) && ask(server, source))
    return true;
  if (source == server->sources)
    return false;
  fail(server, source, "the process that followed this process has ended");
  return true;
}

/* Saves the run if a request waits for that, one at a time. */
static void save(struct hwi_live_server *server, bool has_ended)
{
  struct hwi_live_answer answer = {.form = HWI_LIVE_SAVED, .fd = -1};
  bool is_wanted = false;
  for (const struct waiter *waiter = first(server); waiter; waiter = after(waiter))
    is_wanted |= !waiter->http.is_served && waiter->form == HWI_LIVE_SAVED;
  if (server->saving.pid ? !has_ended : !is_wanted)
    return;
  if (!server->saving.pid)
    note_asked(server, server->sources, HWI_LIVE_SAVED);
  if (server->saving.pid)
    hwi_saving_take(&server->saving, &answer);
  else if (hwi_saving_begin(&server->saving, server->path))
    return;
  else
    snprintf(answer.error, sizeof answer.error, "cannot start a process that saves: %s", strerror(errno));
  hwi_live_source_store_document(server->sources, &answer);
  resume_waiters(server, server->sources, HWI_LIVE_SAVED);
}

static void end_unused(struct hwi_live_server *server)
{
  for (int i = 1; i < SOURCES_MAX; i++) {
    struct hwi_live_source *source = &server->sources[i];
    if (source->is_used && !is_waited_for(server, source) && hwi_os_monotonic_ms() - source->requested_ms > UNUSED_MS)
      hwi_live_source_end(source);
  }
}

/* --- the whole --- */

int hwi_live_server_start(struct hwi_live_server **made, const char *address, uint16_t port, struct hwi_error *error)
{
  struct hwi_live_server *server = *made = calloc(1, sizeof *server);
  if (!server || !hwi_live_token_make(server->token, port)) {
    free(server);
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory for a server");
  }
  int status = hwi_http_start(&server->http, address, port, error);
  if (status == 0 && !hwi_http_serve(&server->http, handle, end_request, server))
    status = hwi_error_set(error, HW_ERR_MEMORY, "no memory for a server");
  if (status < 0) {
    free(server);
    *made = NULL;
  }
  return status;
}

void hwi_live_server_linger(struct hwi_live_server *server, uint64_t ns)
{
  server->linger_ms = ns / 1000000;
}

bool hwi_live_server_is_public(const struct hwi_live_server *server)
{
  return server->http.listener.is_public;
}

void hwi_live_server_url(const struct hwi_live_server *server, char url[HWI_LIVE_URL_BYTES])
{
  snprintf(url, HWI_LIVE_URL_BYTES, "http://%s/?token=%s", server->http.listener.host, server->token);
}

static bool has_lingered(const struct hwi_live_server *server)
{
  const struct hwi_live_source *run = server->sources;
  return server->linger_ms && hwi_live_source_is_over(run) &&
         (hwi_os_monotonic_ms() - run->requested_ms >= server->linger_ms ||
          hwi_live_is_port_wanted(server->http.listener.port));
}

int hwi_live_server_run(struct hwi_live_server *server, const struct hwi_analyst *analyst, const char *path,
                        int stop_fd, struct hwi_error *error)
{
  enum { CONNECTIONS, STOP, SAVING, SOURCES, FDS = SOURCES + SOURCES_MAX };
  struct pollfd fds[FDS] = {
      [CONNECTIONS] = {.fd = hwi_http_events(&server->http), .events = POLLIN},
      [STOP] = {.fd = stop_fd, .events = POLLIN},
  };
  server->path = path;
  server->saving.ended = -1;
  hwi_live_source_begin(server->sources, 0, analyst);
  bool goes_on = true;
  while (goes_on && !fds[STOP].revents && !has_lingered(server)) {
    fds[SAVING] = (struct pollfd){.fd = server->saving.ended, .events = POLLIN};
    for (int i = 0; i < SOURCES_MAX; i++) {
      const struct hwi_live_source *source = &server->sources[i];
      fds[SOURCES + i] = (struct pollfd){.fd = source->is_used ? source->analyst.socket : -1, .events = POLLIN};
    }
    if (poll(fds, FDS, hwi_http_patience(&server->http)) < 0 && errno != EINTR)
      return hwi_error_set(error, HW_ERR_IO, "cannot wait for connections: %s", strerror(errno));
    goes_on = hwi_http_run(&server->http) && ask_for_analyst(server);
    for (int i = 0; i < SOURCES_MAX && goes_on; i++)
      if (server->sources[i].is_used)
        goes_on = serve_source(server, &server->sources[i], fds[SOURCES + i].revents);
    save(server, fds[SAVING].revents);
    end_unused(server);
  }
  return goes_on ? 0 : hwi_error_set(error, HW_ERR_IO, "the process that followed the run has ended");
}

void hwi_live_server_stop(struct hwi_live_server *server)
{
  hwi_saving_stop(&server->saving);
  hwi_http_stop(&server->http);
  for (int i = 0; i < SOURCES_MAX; i++)
    hwi_live_source_end(&server->sources[i]);
  free(server);
}
