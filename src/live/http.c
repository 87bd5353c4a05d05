/* http.c - a daemon for HTTP on one address: its limits, and the answers that all pages have in common */
#include "live/http.h"

#include <poll.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "live/http_library.h"

enum {
  CONNECTIONS_MAX = 64,
  IDLE_SECONDS = 30,
  PATIENCE_MS = 250,
  PATIENCE_WITH_STRANGERS_MS = 20,
};

static struct hwi_http_library library; /* loaded when a daemon starts */

/* --- the daemon --- */

int hwi_http_start(struct hwi_http *http, const char *address, uint16_t port, struct hwi_error *error)
{
  *http = (struct hwi_http){.daemon = NULL};
  const int status = hwi_http_library_load(&library, error);
  return status < 0 ? status : hwi_live_listen(&http->listener, address, port, error);
}

bool hwi_http_serve(struct hwi_http *http, MHD_AccessHandlerCallback handle, MHD_RequestCompletedCallback end,
                    void *context)
{
  http->daemon = library.start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, handle, context,
                                      MHD_OPTION_LISTEN_SOCKET, http->listener.fd, MHD_OPTION_NOTIFY_COMPLETED, end,
                                      context, MHD_OPTION_NOTIFY_CONNECTION, hwi_strangers_note, &http->strangers,
                                      MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX,
                                      MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS, MHD_OPTION_END);
  if (!http->daemon)
    close(http->listener.fd);
  return http->daemon;
}

void hwi_http_stop(struct hwi_http *http)
{
  for (struct hwi_http_waiter *waiter = http->waiters; waiter; waiter = waiter->next)
    hwi_http_serve_waiter(http, waiter);
  library.stop_daemon(http->daemon); /* which closes the socket */
}

int hwi_http_events(const struct hwi_http *http)
{
  return library.get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
}

/* The library accepts no connections while there are too many, and notices only when it runs that some have gone. A connection
 * that goes on does not make its events readable. */
int hwi_http_patience(const struct hwi_http *http)
{
  if (http->has_resumed)
    return 0;
  MHD_UNSIGNED_LONG_LONG ms;
  const int most = http->strangers.count ? PATIENCE_WITH_STRANGERS_MS : PATIENCE_MS;
  return library.get_timeout(http->daemon, &ms) == MHD_YES && ms < (unsigned)most ? (int)ms : most;
}

/* --- connections and requests --- */

int hwi_http_client(struct MHD_Connection *connection)
{
  const union MHD_ConnectionInfo *info = library.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info ? info->connect_fd : -1;
}

void *hwi_http_stored(struct MHD_Connection *connection)
{
  return library.get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

/* A browser sends the origin of the page that asks, if that is another one. */
static bool comes_from(const char *origin, const char *host)
{
  static const char scheme[] = "http://";
  return !origin ||
         (host && strncmp(origin, scheme, sizeof scheme - 1) == 0 && strcasecmp(origin + sizeof scheme - 1, host) == 0);
}

const char *hwi_http_argument(struct MHD_Connection *connection, const char *name)
{
  return library.lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, name);
}

const char *hwi_http_header(struct MHD_Connection *connection, const char *name)
{
  return library.lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

bool hwi_http_is_of_other_page(struct MHD_Connection *connection)
{
  return !comes_from(hwi_http_header(connection, MHD_HTTP_HEADER_ORIGIN),
                     hwi_http_header(connection, MHD_HTTP_HEADER_HOST));
}

bool hwi_http_is_own(const struct hwi_http *http, struct MHD_Connection *connection)
{
  const char *host = hwi_http_header(connection, MHD_HTTP_HEADER_HOST);
  return host && hwi_live_is_host(host, http->listener.port) && !hwi_http_is_of_other_page(connection);
}

/* --- requests that wait --- */

void hwi_http_wait(struct hwi_http *http, struct hwi_http_waiter *waiter, struct MHD_Connection *connection)
{
  *waiter = (struct hwi_http_waiter){.connection = connection, .next = http->waiters};
  http->waiters = waiter;
  library.suspend_connection(connection);
}

void hwi_http_serve_waiter(struct hwi_http *http, struct hwi_http_waiter *waiter)
{
  if (waiter->is_served)
    return;
  waiter->is_served = http->has_resumed = true;
  library.resume_connection(waiter->connection);
}

void hwi_http_end_waiter(struct hwi_http *http, const struct hwi_http_waiter *waiter)
{
  struct hwi_http_waiter **at = &http->waiters;
  while (*at && *at != waiter)
    at = &(*at)->next;
  if (*at)
    *at = waiter->next;
}

/* A client that only sends no more (shutdown) wants its answer. The library does not look at suspended connections. */
static bool has_left(struct MHD_Connection *connection)
{
  struct pollfd client = {.fd = hwi_http_client(connection)};
  return poll(&client, 1, 0) > 0;
}

bool hwi_http_run(struct hwi_http *http)
{
  for (struct hwi_http_waiter *waiter = http->waiters; waiter; waiter = waiter->next)
    if (!waiter->is_served && has_left(waiter->connection))
      hwi_http_serve_waiter(http, waiter);
  hwi_strangers_end(&http->strangers);
  http->has_resumed = false;
  return library.run(http->daemon) == MHD_YES;
}

/* --- answers --- */

struct MHD_Response *hwi_http_response(const void *bytes, size_t count)
{
  return library.create_response_from_buffer(count, (void *)(uintptr_t)bytes, MHD_RESPMEM_MUST_COPY);
}

struct MHD_Response *hwi_http_response_of_file(int fd, uint64_t bytes)
{
  const int own = dup(fd); /* the response closes it */
  struct MHD_Response *response = own < 0 ? NULL : library.create_response_from_fd64(bytes, own);
  if (!response && own >= 0)
    close(own);
  return response;
}

void hwi_http_add_header(struct MHD_Response *response, const char *name, const char *value)
{
  if (response)
    library.add_response_header(response, name, value);
}

enum MHD_Result hwi_http_answer(struct MHD_Connection *connection, unsigned status, struct MHD_Response *response,
                                const char *type)
{
  if (!response)
    return MHD_NO;
  hwi_http_add_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
  hwi_http_add_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
  hwi_http_add_header(response, "X-Content-Type-Options", "nosniff");
  hwi_http_add_header(response, "Referrer-Policy", "no-referrer");
  hwi_http_add_header(response, "Cross-Origin-Resource-Policy", "same-origin");
  hwi_http_add_header(response, "X-Frame-Options", "DENY");
  const enum MHD_Result result = library.queue_response(connection, status, response);
  library.destroy_response(response);
  return result;
}

enum MHD_Result hwi_http_say(struct MHD_Connection *connection, unsigned status, const char *text)
{
  return hwi_http_answer(connection, status, hwi_http_response(text, strlen(text)), "text/plain; charset=utf-8");
}
