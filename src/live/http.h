/* http.h - a daemon for HTTP on one address: its limits, and the answers that all pages have in common
 *
 * It has no thread of its own. Its owner waits for hwi_http_events to become readable, at most hwi_http_patience, and then calls
 * hwi_http_run.
 */
#ifndef HWI_LIVE_HTTP_H
#define HWI_LIVE_HTTP_H

#include <microhttpd.h>

#include "live/listen.h"
#include "live/strangers.h"

/* A request that waits for its answer; the first member of what the server knows of it. */
struct hwi_http_waiter {
  struct MHD_Connection *connection; /* suspended, until it is served */
  bool is_served;                    /* its handler is called again, or was */
  struct hwi_http_waiter *next;
};

struct hwi_http {
  struct MHD_Daemon *daemon;
  struct hwi_live_listener listener;
  struct hwi_strangers strangers;
  struct hwi_http_waiter *waiters; /* the newest first */
  bool has_resumed;                /* a connection, since it ran */
};

/* Begins to listen, see hwi_live_listen; then to serve: `handle` and `end` get the context, and the http must stay where it
 * is. Returns 0 or a negative status; false if there is no memory, and it listens no more. */
int hwi_http_start(struct hwi_http *http, const char *address, uint16_t port, struct hwi_error *error);
bool hwi_http_serve(struct hwi_http *http, MHD_AccessHandlerCallback handle, MHD_RequestCompletedCallback end,
                    void *context);
void hwi_http_stop(struct hwi_http *http);

int hwi_http_events(const struct hwi_http *http);
int hwi_http_patience(const struct hwi_http *http); /* in ms */
bool hwi_http_run(struct hwi_http *http);           /* false: it cannot go on */

/* Returns whether a request calls the server by an IP address or localhost, and comes from no page of another origin. */
bool hwi_http_is_own(const struct hwi_http *http, struct MHD_Connection *connection);

/* Returns whether a page of another origin makes a browser ask. */
bool hwi_http_is_of_other_page(struct MHD_Connection *connection);

/* Suspends a connection in its handler: it waits for hwi_http_serve_waiter, after which the handler is called again when the daemon
 * runs next. It is also served when its client has gone, and when the daemon is stopped. The waiter is the caller's, from here to
 * hwi_http_end_waiter. */
void hwi_http_wait(struct hwi_http *http, struct hwi_http_waiter *waiter, struct MHD_Connection *connection);
void hwi_http_serve_waiter(struct hwi_http *http, struct hwi_http_waiter *waiter); /* one that is served stays so */
void hwi_http_end_waiter(struct hwi_http *http, const struct hwi_http_waiter *waiter);

/* Return what a request has, or NULL: an argument in its address, or a header. */
const char *hwi_http_argument(struct MHD_Connection *connection, const char *name);
const char *hwi_http_header(struct MHD_Connection *connection, const char *name);

/* Make a response for hwi_http_answer: of bytes, which are copied, or of a file, which the caller may then close. Return NULL if
 * there is no memory. */
struct MHD_Response *hwi_http_response(const void *bytes, size_t count);
struct MHD_Response *hwi_http_response_of_file(int fd, uint64_t bytes);
void hwi_http_add_header(struct MHD_Response *response, const char *name, const char *value); /* to NULL: nothing */

/* Return the socket of a connection, or -1; and what the callback of MHD_OPTION_NOTIFY_CONNECTION has stored for it. */
int hwi_http_client(struct MHD_Connection *connection);
void *hwi_http_stored(struct MHD_Connection *connection);

/* Queue an answer: `response`, which is released, and may be NULL if there is no memory; or a text. */
enum MHD_Result hwi_http_answer(struct MHD_Connection *connection, unsigned status, struct MHD_Response *response,
                                const char *type);
enum MHD_Result hwi_http_say(struct MHD_Connection *connection, unsigned status, const char *text);

#endif
