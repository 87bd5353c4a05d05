/* listen.c - the socket of the server, and the names by which a request may call it */
#include "live/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HTTP_PORT = 80 };

union address {
  struct sockaddr any;
  struct sockaddr_in v4;
  struct sockaddr_in6 v6;
};

static bool parse(union address *address, const char *text, uint16_t port)
{
  *address = (union address){.v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)}};
  if (inet_pton(AF_INET6, text, &address->v6.sin6_addr) == 1)
    return true;
  *address = (union address){.v4 = {.sin_family = AF_INET, .sin_port = htons(port)}};
  return inet_pton(AF_INET, text, &address->v4.sin_addr) == 1;
}

static socklen_t bytes_of(const union address *address)
{
  return address->any.sa_family == AF_INET ? sizeof address->v4 : sizeof address->v6;
}

static void describe(struct hwi_live_listener *listener, const union address *address)
{
  char text[INET6_ADDRSTRLEN];
  if (address->any.sa_family == AF_INET) {
    const uint32_t number = ntohl(address->v4.sin_addr.s_addr);
    const struct in_addr shown = {htonl(number == INADDR_ANY ? INADDR_LOOPBACK : number)};
    listener->is_public = number >> IN_CLASSA_NSHIFT != IN_LOOPBACKNET;
    snprintf(listener->host, sizeof listener->host, "%s:%u", inet_ntop(AF_INET, &shown, text, sizeof text),
             listener->port);
  } else {
    const struct in6_addr *number = &address->v6.sin6_addr;
    const struct in6_addr *shown = IN6_IS_ADDR_UNSPECIFIED(number) ? &in6addr_loopback : number;
    listener->is_public = !IN6_IS_ADDR_LOOPBACK(number);
    snprintf(listener->host, sizeof listener->host, "[%s]:%u", inet_ntop(AF_INET6, shown, text, sizeof text),
             listener->port);
  }
}

/* Connections inherit this: a client that has gone while it waits for an answer is noticed, though it may have closed its
 * connection like one that only sends no more. */
static bool watch_clients(int fd)
{
  const int on = 1, seconds = 10;
  return setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on) == 0 &&
         setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof seconds) == 0 &&
         setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof seconds) == 0;
}

/* Returns whether the socket listens; else errno says why. [::] is all addresses, also those of IPv4. */
static bool begin(int fd, const union address *address)
{
  const int on = 1, off = 0;
  return fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 && watch_clients(fd) &&
         (address->any.sa_family == AF_INET || setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) == 0) &&
         bind(fd, &address->any, bytes_of(address)) == 0 && listen(fd, SOMAXCONN) == 0;
}

int hwi_live_listen(struct hwi_live_listener *listener, const char *text, uint16_t port, struct hwi_error *error)
{
  union address address;
  if (!parse(&address, text, port)) {
    errno = EINVAL;
    return hwi_error_set(error, HW_ERR_IO, "'%s' is no IP address, such as 127.0.0.1, ::1 or 0.0.0.0", text);
  }
  socklen_t bytes = sizeof address;
  const int fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (!begin(fd, &address) || getsockname(fd, &address.any, &bytes) < 0) {
    const int status = hwi_error_set(error, HW_ERR_IO, "cannot listen on %s, port %u: %s; choose another %s", text,
                                     port, strerror(errno), errno == EADDRNOTAVAIL ? "address" : "port");
    if (fd >= 0)
      close(fd);
    return status;
  }
  *listener = (struct hwi_live_listener){.fd = fd};
  listener->port = ntohs(address.any.sa_family == AF_INET ? address.v4.sin_port : address.v6.sin6_port);
  describe(listener, &address);
  return 0;
}

static bool read_port(const char *text, uint16_t *port)
{
  const size_t digits = strspn(text, "0123456789");
  const unsigned long number = strtoul(text, NULL, 10);
  *port = (uint16_t)number;
  return digits > 0 && digits <= 5 && text[digits] == 0 && number <= UINT16_MAX;
}

/* An address of IPv6 has colons of its own, so its port needs brackets. */
int hwi_live_split(const char *text, uint16_t usual_port, char address[HWI_LIVE_HOST_BYTES], uint16_t *port,
                   struct hwi_error *error)
{
  union address parsed;
  const bool has_brackets = *text == '[';
  const char *end = has_brackets                              ? strchr(text, ']')
                    : strchr(text, ':') == strrchr(text, ':') ? strchr(text, ':')
                                                              : NULL;
  const char *begin = text + has_brackets, *rest = end ? end + has_brackets : "";
  const size_t bytes = end ? (size_t)(end - begin) : strlen(begin);
  *port = usual_port;
  snprintf(address, HWI_LIVE_HOST_BYTES, "%.*s", (int)bytes, begin);
  if (bytes >= INET6_ADDRSTRLEN || !parse(&parsed, address, 0) || (has_brackets && !end))
    return hwi_error_set(error, HW_ERR_USAGE,
                         "'%s' is no IP address with a port, such as 127.0.0.1:9876, [::1]:9876 or 0.0.0.0:9876", text);
  if (*rest && (*rest != ':' || !read_port(rest + 1, port)))
    return hwi_error_set(error, HW_ERR_USAGE, "'%s': ports are numbers up to %d", text, UINT16_MAX);
  return 0;
}

/* Returns whether the first `bytes` of `host` are localhost or an IP address, in brackets if it is one of IPv6. */
static bool is_name(const char *host, size_t bytes)
{
  char text[INET6_ADDRSTRLEN + 2];
  struct in6_addr ignored;
  if (bytes >= sizeof text)
    return false;
  memcpy(text, host, bytes);
  text[bytes] = 0;
  if (strcasecmp(text, "localhost") == 0 || inet_pton(AF_INET, text, &ignored) == 1)
    return true;
  if (bytes < 2 || text[0] != '[' || text[bytes - 1] != ']')
    return false;
  text[bytes - 1] = 0;
  return inet_pton(AF_INET6, text + 1, &ignored) == 1;
}

bool hwi_live_is_host(const char *host, uint16_t port)
{
  char suffix[8];
  const size_t bytes = strlen(host), with = (size_t)snprintf(suffix, sizeof suffix, ":%u", port);
  if (port == HTTP_PORT && is_name(host, bytes)) /* browsers leave it out */
    return true;
  return bytes > with && strcmp(host + bytes - with, suffix) == 0 && is_name(host, bytes - with);
}
