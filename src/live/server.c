/* server.c - serves the page of a running program, and what it shows, on this machine */
#include "live/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "live/strangers.h"
#include "page/page.h"
#include "platform/os.h"
#include "report/words/memory_stream.h"

enum {
  TOKEN_BYTES = 16,
  CONNECTIONS_MAX = 64,
  IDLE_SECONDS = 30,
  PATIENCE_MS = 250,
  FRESH_MS = 90, /* a document that is not older is given to all who ask */
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
  uint16_t port;
  char token[2 * TOKEN_BYTES + 1];
  char hosts[2][32]; /* what a request may name as its host */
  struct document documents[HWI_LIVE_FORMS];
  struct waiter *waiters;
  bool is_asked; /* the analyst works on a document */
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
                form == HWI_LIVE_HTML ? "text/html; charset=utf-8" : "application/json");
}

/* --- requests --- */

/* Compares in a time that does not depend on where they differ. */
static bool is_token(const struct hwi_live_server *server, const char *given)
{
  const size_t bytes = sizeof server->token - 1;
  unsigned difference = 0;
  if (!given || strlen(given) != bytes)
    return false;
  for (size_t i = 0; i < bytes; i++)
    difference |= (unsigned char)(given[i] ^ server->token[i]);
  return difference == 0;
}

static bool names_this_host(const struct hwi_live_server *server, const char *host)
{
  return host && (strcmp(host, server->hosts[0]) == 0 || strcmp(host, server->hosts[1]) == 0);
}

/* A browser sends the origin of the page that asks, if that is another one. */
static bool comes_from_here(const struct hwi_live_server *server, const char *origin)
{
  static const char scheme[] = "http://";
  return !origin ||
         (strncmp(origin, scheme, sizeof scheme - 1) == 0 && names_this_host(server, origin + sizeof scheme - 1));
}

static const struct {
  const char *path;
  enum hwi_live_form form;
} served[] = {
    {"/document", HWI_LIVE_DATA},
    {"/report.html", HWI_LIVE_HTML},
    {"/report.json", HWI_LIVE_JSON},
};

static enum hwi_live_form form_of(const char *path)
{
  for (size_t i = 0; i < sizeof served / sizeof *served; i++)
    if (strcmp(served[i].path, path) == 0)
      return served[i].form;
  return HWI_LIVE_NONE;
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
  if (!names_this_host(server, host) || !comes_from_here(server, origin))
    return refuse(connection, MHD_HTTP_FORBIDDEN, "this server answers only to pages of its own\n");
  if (!is_token(server, token))
    return refuse(connection, MHD_HTTP_FORBIDDEN, "the address lacks the token that heapwright live printed\n");
  hwi_strangers_forget(&server->strangers, connection);
  if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 || *upload_bytes)
    return refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET\n");
  if (strcmp(path, "/") == 0)
    return answer_page(server, connection);
  const enum hwi_live_form form = form_of(path);
  if (form == HWI_LIVE_NONE)
    return refuse(connection, MHD_HTTP_NOT_FOUND, "there is no such page\n");
  if (is_fresh(&server->documents[form], last_number(connection)))
    return answer_document(&server->documents[form], connection, form);
  return wait_for(server, connection, form, (struct waiter **)place);
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
  server->is_asked = false;
  resume_waiters(server, answer.form);
  return true;
}

/* --- the whole --- */

static bool make_token(char token[2 * TOKEN_BYTES + 1])
{
  uint8_t bytes[TOKEN_BYTES];
  if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
    return false;
  for (size_t i = 0; i < sizeof bytes; i++)
    snprintf(token + 2 * i, 3, "%02x", bytes[i]);
  return true;
}

static int fail_to_listen(uint16_t port, struct hwi_error *error)
{
  return hwi_error_set(error, HW_ERR_IO, "cannot listen on 127.0.0.1, port %u: %s; choose another one with --port",
                       port, strerror(errno));
}

int hwi_live_server_start(struct hwi_live_server **made, uint16_t port, struct hwi_error *error)
{
  struct hwi_live_server *server = *made = calloc(1, sizeof *server);
  struct sockaddr_in address = {
      .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  if (!server || !make_token(server->token)) {
    free(server);
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory for a server");
  }
  for (int form = 0; form < HWI_LIVE_FORMS; form++)
    server->documents[form].fd = -1;
  server->daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, port, NULL, NULL, handle, server,
                                    MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&address, MHD_OPTION_NOTIFY_COMPLETED,
                                    end_request, server, MHD_OPTION_NOTIFY_CONNECTION, hwi_strangers_note,
                                    &server->strangers, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX,
                                    MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS, MHD_OPTION_END);
  if (!server->daemon) {
    free(server);
    return fail_to_listen(port, error);
  }
  server->port = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
  snprintf(server->hosts[0], sizeof server->hosts[0], "127.0.0.1:%u", server->port);
  snprintf(server->hosts[1], sizeof server->hosts[1], "localhost:%u", server->port);
  return 0;
}

void hwi_live_server_url(const struct hwi_live_server *server, char url[HWI_LIVE_URL_BYTES])
{
  snprintf(url, HWI_LIVE_URL_BYTES, "http://127.0.0.1:%u/?token=%s", server->port, server->token);
}

/* Returns how long to wait for the next event of a connection, in ms. The library accepts no connections while there are
 * too many, and notices only when it runs that some have gone. */
static int patience(const struct hwi_live_server *server)
{
  MHD_UNSIGNED_LONG_LONG ms;
  return MHD_get_timeout(server->daemon, &ms) == MHD_YES && ms < PATIENCE_MS ? (int)ms : PATIENCE_MS;
}

int hwi_live_server_run(struct hwi_live_server *server, const struct hwi_analyst *analyst, int stop_fd,
                        struct hwi_error *error)
{
  server->analyst = analyst;
  enum { CONNECTIONS, ANALYST, STOP, FDS };
  struct pollfd fds[FDS] = {
      [CONNECTIONS] = {.fd = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd, .events = POLLIN},
      [ANALYST] = {.fd = analyst->socket, .events = POLLIN},
      [STOP] = {.fd = stop_fd, .events = POLLIN},
  };
  bool goes_on = true;
  while (goes_on && !fds[STOP].revents) {
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
