/* token.h - the secret in the address of a live page */
#ifndef HWI_LIVE_TOKEN_H
#define HWI_LIVE_TOKEN_H

#include <stdbool.h>
#include <stdint.h>

enum { HWI_LIVE_TOKEN_CHARS = 32 };

/* Makes a token of random hexadecimal digits. For a chosen port, the user's last token of it is taken, which is kept in
 * $XDG_RUNTIME_DIR/heapwright, so that an open page finds a viewer again that was restarted. `port` 0: none was chosen.
 * Returns false if there is no randomness. */
bool hwi_live_token_make(char token[HWI_LIVE_TOKEN_CHARS + 1], uint16_t port);

/* Returns whether both are the same, in a time that does not depend on where they differ. NULL: there is none. */
bool hwi_live_token_is(const char token[HWI_LIVE_TOKEN_CHARS + 1], const char *given);

#endif
