/* serve.h - serves endpoints to other programs: figures of a fleet of runs
 *
 * On a loopback address, everyone on the machine may ask, since scrapers have no token of a page. With a token, a request needs
 * the header "Authorization: Bearer TOKEN", and may call the server by any name, because no page can send that header.
 */
#ifndef HWI_LIVE_FLEET_SERVE_H
#define HWI_LIVE_FLEET_SERVE_H

#include "live/fleet/fleet.h"

enum { HWI_SERVE_PORT = 9876, HWI_SERVE_TOKEN_BYTES = 256 };

struct hwi_serve_options {
  const char *address; /* ADDRESS, ADDRESS:PORT or [ADDRESS]:PORT */
  const char *token;   /* a file that has it; NULL: there is none */
};

struct hwi_serve;

/* Begins to listen. Returns 0 or a negative status. */
int hwi_serve_start(struct hwi_serve **serve, const struct hwi_serve_options *options, struct hwi_error *error);

/* Returns the server's address, with its port. */
const char *hwi_serve_host(const struct hwi_serve *serve);
bool hwi_serve_is_public(const struct hwi_serve *serve);

/* Serves until `stop_fd` becomes readable, and then listens no more. Returns 0 or a negative status. */
int hwi_serve_run(struct hwi_serve *serve, struct hwi_fleet *fleet, int stop_fd, struct hwi_error *error);

void hwi_serve_stop(struct hwi_serve *serve); /* NULL is fine */

#endif
