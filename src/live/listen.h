/* listen.h - the socket of the server, and the names by which a request may call it */
#ifndef HWI_LIVE_LISTEN_H
#define HWI_LIVE_LISTEN_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum { HWI_LIVE_HOST_BYTES = INET6_ADDRSTRLEN + 10 };

struct hwi_live_listener {
  int fd;
  uint16_t port;
  bool is_public;                 /* other machines may reach it */
  char host[HWI_LIVE_HOST_BYTES]; /* ADDRESS:PORT, by which this machine reaches it */
};

/* Listens on `address`, an IP address as text, and `port`; 0: any that is free. Returns 0 or a negative status, with the
 * error's number in error->os_error. */
int hwi_live_listen(struct hwi_live_listener *listener, const char *address, uint16_t port, struct hwi_error *error);

/* Splits ADDRESS, ADDRESS:PORT or [ADDRESS]:PORT, of an IP address. Returns 0 or HW_ERR_USAGE. */
int hwi_live_split(const char *text, uint16_t usual_port, char address[HWI_LIVE_HOST_BYTES], uint16_t *port,
                   struct hwi_error *error);

/* Returns whether `host` is this port of an IP address, or of localhost. Any other name may be one that another site has
 * made to mean this machine (DNS rebinding). */
bool hwi_live_is_host(const char *host, uint16_t port);

#endif
