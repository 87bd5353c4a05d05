/* strangers.h - connections that have not shown the token yet
 *
 * Every process on the machine can connect. So that those without the token do not take all connections from those who have
 * it, a connection is closed if its first valid request does not come soon, the sooner the more of them there are.
 */
#ifndef HWI_LIVE_STRANGERS_H
#define HWI_LIVE_STRANGERS_H

#include <microhttpd.h>

/* All zero: none. */
struct hwi_strangers {
  struct hwi_stranger *newest;
  unsigned count;
};

/* For MHD_OPTION_NOTIFY_CONNECTION; the context is the strangers. */
void hwi_strangers_note(void *strangers, struct MHD_Connection *connection, void **place,
                        enum MHD_ConnectionNotificationCode code);

/* The connection has shown the token. */
void hwi_strangers_forget(struct hwi_strangers *strangers, struct MHD_Connection *connection);

/* Ends connections that have waited too long. To be called several times a second. */
void hwi_strangers_end(struct hwi_strangers *strangers);

#endif
