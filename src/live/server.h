/* server.h - serves the page of a running program, and what it shows, on this machine
 *
 * The page asks for the next document when it has shown one, so that its viewer chooses the interval, and a page that is
 * not shown costs nothing. Everybody on the machine can connect, so each request needs the token that is in the page's
 * address, and names this server as its host, so that no other page can make a browser ask.
 */
#ifndef HWI_LIVE_SERVER_H
#define HWI_LIVE_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "live/analyst.h"

enum { HWI_LIVE_URL_BYTES = 128 };

struct hwi_live_server;

/* Begins to listen, see hwi_live_listen. Returns 0 or a negative status. */
int hwi_live_server_start(struct hwi_live_server **server, const char *address, uint16_t port, struct hwi_error *error);

/* The server will end by itself when the run has ended and it was not asked for anything for `ns`, or its port is wanted
 * (folder.h). */
void hwi_live_server_linger(struct hwi_live_server *server, uint64_t ns);

/* Returns whether other machines may reach it. */
bool hwi_live_server_is_public(const struct hwi_live_server *server);

/* Writes the page's address. */
void hwi_live_server_url(const struct hwi_live_server *server, char url[HWI_LIVE_URL_BYTES]);

/* Serves what the analyst knows of the run at `path` until `stop_fd` becomes readable, or the analyst is gone. Returns 0
 * or a negative status. */
int hwi_live_server_run(struct hwi_live_server *server, const struct hwi_analyst *analyst, const char *path,
                        int stop_fd, struct hwi_error *error);

void hwi_live_server_stop(struct hwi_live_server *server);

#endif
