/* messages.h - what a viewer and an analyst send each other, over a socket of the kind SOCK_SEQPACKET */
#ifndef HWI_LIVE_MESSAGES_H
#define HWI_LIVE_MESSAGES_H

#include <stdbool.h>

#include "base/error.h"
#include "live/endpoint.h"
#include "live/rows.h"

struct hwi_live_ask {
  uint32_t form; /* enum hwi_live_form */
  uint32_t complete;
  uint32_t pid;                  /* of HWI_LIVE_PROCESS */
  struct hwi_live_question rows; /* of HWI_LIVE_ROWS */
  struct hwi_live_query query;   /* of HWI_LIVE_PART */
};

struct hwi_live_reply {
  uint32_t form, state;
  uint64_t bytes, behind_ns;
  uint32_t has_document; /* its descriptor comes with the reply */
  char error[HWI_ERROR_TEXT_BYTES];
};

/* Each sends or takes one message. They return false if the other side is gone, or sends something else. */
bool hwi_live_send_ask(int to, const struct hwi_live_ask *ask);
bool hwi_live_take_ask(int from, struct hwi_live_ask *ask);

/* `document`: a descriptor; -1: none. The one that was taken is the caller's. */
bool hwi_live_send_reply(int to, const struct hwi_live_reply *reply, int document);
bool hwi_live_take_reply(int from, struct hwi_live_reply *reply, int *document);

#endif
