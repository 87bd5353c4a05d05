/* server.c - serves the page of a running program, and what it shows, on this machine */
#include "live/server.h"

#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launch/control.h"
#include "live/folder.h"
#include "live/listen.h"
#include "live/strangers.h"
#include "live/token.h"
#include "page/page.h"
#include "platform/os.h"
#include "report/words/memory_stream.h"

enum {
  CONNECTIONS_MAX = 64,
  IDLE_SECONDS = 30,
  PATIENCE_MS = 250,
  FRESH_MS = 90, /* a document that is not older is given to all who ask */
  STATE_EVERY_MS = 1000,
};

/* A request that waits for a document. */
struct waiter {
  struct MHD_Connection *connection; /* suspended */
  enum hwi_live_form form;
  bool is_served;
  struct waiter *next;
};

/* The newest document of a form. */
struct document {
  int fd; /* -1: none */
  uint64_t bytes, number, made_ms, behind_ms;
  enum hwi_follow_state state;
  char error[HWI_ERROR_TEXT_BYTES];
};

struct hwi_live_server {
  struct MHD_Daemon *daemon;
  const struct hwi_analyst *analyst;
  const char *path; /* of the run */
  struct hwi_live_listener listener;
  char token[HWI_LIVE_TOKEN_CHARS + 1];
  struct document documents[HWI_LIVE_FORMS];
  struct waiter *waiters;
  bool is_asked;                      /* the analyst works on a document */
  bool is_over;                       /* the run, when the analyst answered last */
  uint64_t linger_ms;                 /* see hwi_live_server_linger; 0: for ever */
  uint64_t requested_ms, answered_ms; /* the last request; the analyst's last answer; 0: none yet */
  struct hwi_strangers strangers;
};

static uint64_t now_ms(void)
{
  return hwi_os_monotonic_ns() / 1000000;
}

/* --- answers --- */

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned status, struct MHD_Response *response,
                              const char *type)
{
  if (!response)
    return MHD_NO;
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
  MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
  MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
  MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
  MHD_add_response_header(response, "Cross-Origin-Resource-Policy", "same-origin");
  MHD_add_response_header(response, "X-Frame-Options", "DENY");
  const enum MHD_Result result = MHD_queue_response(connection, status, response);
  MHD_destroy_response(response);
  return result;
}

static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned status, const char *why)
{
  struct MHD_Response *response =
      MHD_create_response_from_buffer(strlen(why), (void *)(uintptr_t)why, MHD_RESPMEM_MUST_COPY);
  return answer(connection, status, response, "text/plain; charset=utf-8");
}

static enum MHD_Result answer_page(const struct hwi_live_server *server, struct MHD_Connection *connection)
{
  struct hwi_memory_stream page = {0};
  FILE *out = hwi_memory_stream_begin(&page);
  if (out)
    hwi_page_write_live(server->token, out);
  const bool done = out && hwi_memory_stream_end(&page, out);
  struct MHD_Response *response =
      done ? MHD_create_response_from_buffer(page.bytes, page.text, MHD_RESPMEM_MUST_COPY) : NULL;
  hwi_memory_stream_release(&page);
  return answer(connection, MHD_HTTP_OK, response, "text/html; charset=utf-8");
}

static enum MHD_Result answer_document(const struct document *document, struct MHD_Connection *connection,
                                       enum hwi_live_form form)
{
  char number[24], behind_ms[24];
  if (document->fd < 0)
    return refuse(connection, MHD_HTTP_SERVICE_UNAVAILABLE, document->error);
  const int fd = dup(document->fd); /* the response closes it */
  struct MHD_Response *response = fd < 0 ? NULL : MHD_create_response_from_fd64(document->bytes, fd);
  if (response) {
    snprintf(number, sizeof number, "%llu", (unsigned long long)document->number);
    snprintf(behind_ms, sizeof behind_ms, "%llu", (unsigned long long)document->behind_ms);
    MHD_add_response_header(response, "Heapwright-Number", number);
    MHD_add_response_header(response, "Heapwright-Behind-Ms", behind_ms);
    MHD_add_response_header(response, "Heapwright-State", document->state == HWI_FOLLOW_OVER ? "over" : "running");
  } else if (fd >= 0) {
    close(fd);
  }
  return answer(connection, MHD_HTTP_OK, response,
                form == HWI_LIVE_HTML  ? "text/html; charset=utf-8"
                : form == HWI_LIVE_CSV ? "text/csv; charset=utf-8"
                                       : "application/json");
}

/* --- requests --- */

/* A browser sends the origin of the page that asks, if that is another one. */
static bool comes_from_here(const char *origin, const char *host)
{
  static const char scheme[] = "http://";
  return !origin || (strncmp(origin, scheme, sizeof scheme - 1) == 0 && strcmp(origin + sizeof scheme - 1, host) == 0);
}

/* Answers a request at once. */
typedef enum MHD_Result (*act_function)(const struct hwi_live_server *server, struct MHD_Connection *connection);

static enum MHD_Result control(const struct hwi_live_server *server, struct MHD_Connection *connection,
                               enum hwi_control_action action, const char *text)
{
  const struct hwi_control_request request = {.target = server->path, .action = action, .text = text};
  struct hwi_controlled controlled;
  struct hwi_error error = {0};
  if (hwi_control(&request, &controlled, &error) < 0)
    return refuse(connection, MHD_HTTP_CONFLICT, error.text);
  return refuse(connection, MHD_HTTP_OK, "");
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
  const char *text = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "text");
  text = text && *text ? text : "mark";
  if (strlen(text) > HWI_CONTROL_TEXT_BYTES)
    return refuse(connection, MHD_HTTP_URI_TOO_LONG, "the text of a mark has at most 1,024 bytes\n");
  return control(server, connection, HWI_CONTROL_MARK, text);
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
    {MHD_HTTP_METHOD_POST, "/now", HWI_LIVE_NOW, NULL},
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
  const char *after = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "after");
  return after ? strtoull(after, NULL, 10) : 0;
}

static bool is_fresh(const struct document *document, uint64_t after)
{
  return document->number > after && now_ms() - document->made_ms <= FRESH_MS;
}

static enum MHD_Result wait_for(struct hwi_live_server *server, struct MHD_Connection *connection,
                                enum hwi_live_form form, struct waiter **place)
{
  struct waiter *waiter = calloc(1, sizeof *waiter);
  if (!waiter)
    return MHD_NO;
  *waiter = (struct waiter){.connection = connection, .form = form, .next = server->waiters};
  server->waiters = *place = waiter;
  MHD_suspend_connection(connection);
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
    return answer_document(&server->documents[waiter->form], connection, waiter->form);
  const char *host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
  const char *origin = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ORIGIN);
  const char *token = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "token");
  if (!host || !hwi_live_is_host(host, server->listener.port) || !comes_from_here(origin, host))
    return refuse(connection, MHD_HTTP_FORBIDDEN, "this server answers only to pages of its own\n");
  if (!hwi_live_token_is(server->token, token))
    return refuse(connection, MHD_HTTP_FORBIDDEN, "the address lacks the token that heapwright live printed\n");
  hwi_strangers_forget(&server->strangers, connection);
  server->requested_ms = now_ms();
  const struct route *route = find_route(method, path);
  if (!route)
    return refuse(connection, MHD_HTTP_NOT_FOUND, "there is no such page\n");
  if (strcmp(method, route->method) != 0 || *upload_bytes)
    return refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "this address takes another method, and no body\n");
  if (route->act)
    return route->act(server, connection);
  if (is_fresh(&server->documents[route->form], last_number(connection)))
    return answer_document(&server->documents[route->form], connection, route->form);
  return wait_for(server, connection, route->form, (struct waiter **)place);
}

static void end_request(void *context, struct MHD_Connection *connection, void **place,
                        enum MHD_RequestTerminationCode code)
{
  struct hwi_live_server *server = context;
  struct waiter *waiter = *place;
  (void)connection;
  (void)code;
  for (struct waiter **at = &server->waiters; waiter && *at; at = &(*at)->next)
    if (*at == waiter) {
      *at = waiter->next;
      break;
    }
  free(waiter);
  *place = NULL;
}

/* --- documents --- */

/* Asks for what the oldest request waits for (the list begins with the newest), unless the analyst is at work. Returns false if the analyst is gone. */
static bool ask(struct hwi_live_server *server)
{
  enum hwi_live_form form = HWI_LIVE_NONE;
  for (const struct waiter *waiter = server->waiters; waiter; waiter = waiter->next)
    if (!waiter->is_served)
      form = waiter->form;
  if (form == HWI_LIVE_NONE && server->linger_ms && now_ms() - server->answered_ms >= STATE_EVERY_MS)
    form = HWI_LIVE_STATE;
  if (server->is_asked || form == HWI_LIVE_NONE)
    return true;
  server->is_asked = true;
  return hwi_analyst_ask(server->analyst, form, false);
}

static void resume_waiters(struct hwi_live_server *server, enum hwi_live_form form)
{
  for (struct waiter *waiter = server->waiters; waiter; waiter = waiter->next) {
    if (waiter->form != form || waiter->is_served)
      continue;
    waiter->is_served = true;
    MHD_resume_connection(waiter->connection);
  }
}

/* Returns false if the analyst is gone. */
static bool take(struct hwi_live_server *server)
{
  struct hwi_live_answer answer;
  if (!hwi_analyst_take(server->analyst, &answer))
    return false;
  struct document *document = &server->documents[answer.form];
  if (document->fd >= 0)
    close(document->fd);
  document->fd = answer.fd;
  document->bytes = answer.bytes;
  document->number++;
  document->made_ms = now_ms();
  document->behind_ms = answer.behind_ns / 1000000;
  document->state = answer.state;
  memcpy(document->error, answer.error, sizeof document->error);
  server->is_over = answer.state != HWI_FOLLOW_MORE && answer.state != HWI_FOLLOW_WAITS; /* or it cannot be read */
  server->answered_ms = document->made_ms;
  server->is_asked = false;
  resume_waiters(server, answer.form);
  return true;
}

/* --- the whole --- */

static bool serve(struct hwi_live_server *server)
{
  server->daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, handle, server,
                                    MHD_OPTION_LISTEN_SOCKET, server->listener.fd, MHD_OPTION_NOTIFY_COMPLETED,
                                    end_request, server, MHD_OPTION_NOTIFY_CONNECTION, hwi_strangers_note,
                                    &server->strangers, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX,
                                    MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS, MHD_OPTION_END);
  return server->daemon;
}

int hwi_live_server_start(struct hwi_live_server **made, const char *address, uint16_t port, struct hwi_error *error)
{
  struct hwi_live_server *server = *made = calloc(1, sizeof *server);
  if (!server || !hwi_live_token_make(server->token, port)) {
    free(server);
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory for a server");
  }
  for (int form = 0; form < HWI_LIVE_FORMS; form++)
    server->documents[form].fd = -1;
  int status = hwi_live_listen(&server->listener, address, port, error);
  if (status == 0 && !serve(server)) {
    close(server->listener.fd);
    status = hwi_error_set(error, HW_ERR_MEMORY, "no memory for a server");
  }
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
  return server->listener.is_public;
}

void hwi_live_server_url(const struct hwi_live_server *server, char url[HWI_LIVE_URL_BYTES])
{
  snprintf(url, HWI_LIVE_URL_BYTES, "http://%s/?token=%s", server->listener.host, server->token);
}

static bool has_lingered(const struct hwi_live_server *server)
{
  return server->linger_ms && server->is_over &&
         (now_ms() - server->requested_ms >= server->linger_ms || hwi_live_is_port_wanted(server->listener.port));
}

/* Returns how long to wait for the next event of a connection, in ms. The library accepts no connections while there are
 * too many, and notices only when it runs that some have gone. */
static int patience(const struct hwi_live_server *server)
{
  MHD_UNSIGNED_LONG_LONG ms;
  return MHD_get_timeout(server->daemon, &ms) == MHD_YES && ms < PATIENCE_MS ? (int)ms : PATIENCE_MS;
}

int hwi_live_server_run(struct hwi_live_server *server, const struct hwi_analyst *analyst, const char *path,
                        int stop_fd, struct hwi_error *error)
{
  server->analyst = analyst;
  server->path = path;
  enum { CONNECTIONS, ANALYST, STOP, FDS };
  struct pollfd fds[FDS] = {
      [CONNECTIONS] = {.fd = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd, .events = POLLIN},
      [ANALYST] = {.fd = analyst->socket, .events = POLLIN},
      [STOP] = {.fd = stop_fd, .events = POLLIN},
  };
  bool goes_on = true;
  while (goes_on && !fds[STOP].revents && !has_lingered(server)) {
    if (poll(fds, FDS, patience(server)) < 0 && errno != EINTR)
      return hwi_error_set(error, HW_ERR_IO, "cannot wait for connections: %s", strerror(errno));
    if (fds[ANALYST].revents)
      goes_on = take(server);
    hwi_strangers_end(&server->strangers);
    goes_on = MHD_run(server->daemon) == MHD_YES && goes_on && ask(server);
  }
  return goes_on ? 0 : hwi_error_set(error, HW_ERR_IO, "the process that followed the run has ended");
}

void hwi_live_server_stop(struct hwi_live_server *server)
{
  for (struct waiter *waiter = server->waiters; waiter; waiter = waiter->next)
    if (!waiter->is_served)
      MHD_resume_connection(waiter->connection);
  MHD_stop_daemon(server->daemon);
  for (int form = 0; form < HWI_LIVE_FORMS; form++)
    if (server->documents[form].fd >= 0)
      close(server->documents[form].fd);
  free(server);
}
