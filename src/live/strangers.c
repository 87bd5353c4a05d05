/* strangers.c - connections that have not shown the token yet */
#include "live/strangers.h"

#include <stdlib.h>
#include <sys/socket.h>

#include "live/http.h"
#include "platform/os.h"

enum { MANY = 16 };
static const uint64_t PATIENCE_NS = 2000000000, SHORT_PATIENCE_NS = 200000000;

struct hwi_stranger {
  int fd;
  uint64_t since_ns;
  struct hwi_stranger *next;
};

static void take_out(struct hwi_strangers *strangers, struct hwi_stranger *stranger)
{
  struct hwi_stranger **at = &strangers->newest;
  while (*at && *at != stranger)
    at = &(*at)->next;
  if (!*at)
    return;
  *at = stranger->next;
  strangers->count--;
}

static struct hwi_stranger *take_in(struct hwi_strangers *strangers, struct MHD_Connection *connection)
{
  struct hwi_stranger *stranger = malloc(sizeof *stranger);
  if (!stranger)
    return NULL;
  const int fd = hwi_http_client(connection);
  *stranger = (struct hwi_stranger){fd, hwi_os_monotonic_ns(), strangers->newest};
  strangers->newest = stranger;
  strangers->count++;
  return stranger;
}

void hwi_strangers_note(void *context, struct MHD_Connection *connection, void **place,
                        enum MHD_ConnectionNotificationCode code)
{
  struct hwi_strangers *strangers = context;
  if (code == MHD_CONNECTION_NOTIFY_STARTED) {
    *place = take_in(strangers, connection);
  } else if (*place) {
    take_out(strangers, *place);
    free(*place);
    *place = NULL;
  }
}

void hwi_strangers_forget(struct hwi_strangers *strangers, struct MHD_Connection *connection)
{
  struct hwi_stranger *known = hwi_http_stored(connection);
  if (known)
    take_out(strangers, known);
}

void hwi_strangers_end(struct hwi_strangers *strangers)
{
  const uint64_t now_ns = hwi_os_monotonic_ns();
  const uint64_t patience_ns = strangers->count > MANY ? SHORT_PATIENCE_NS : PATIENCE_NS;
  for (const struct hwi_stranger *stranger = strangers->newest; stranger; stranger = stranger->next)
    if (now_ns - stranger->since_ns > patience_ns)
      shutdown(stranger->fd, SHUT_RDWR); /* the daemon then closes it */
}
