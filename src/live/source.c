/* source.c - the newest documents of a run, or of one of its processes, which an analyst makes */
#include "live/source.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "platform/os.h"

enum { FRESH_MS = 90 }; /* a document that is not older is given to all who ask */

void hwi_live_source_begin(struct hwi_live_source *source, uint32_t pid, const struct hwi_analyst *analyst)
{
  *source = (struct hwi_live_source){.is_used = true, .pid = pid, .analyst = {.socket = -1}};
  if (analyst)
    source->analyst = *analyst;
  for (int form = 0; form < HWI_LIVE_FORMS; form++)
    source->documents[form].fd = -1;
}

static void drop(struct hwi_live_document *document)
{
  if (document->fd >= 0)
    close(document->fd);
  document->fd = -1;
}

void hwi_live_source_end(struct hwi_live_source *source)
{
  if (!source->is_used)
    return;
  for (int form = 0; form < HWI_LIVE_FORMS; form++)
    drop(&source->documents[form]);
  if (source->pid && source->analyst.socket >= 0)
    close(source->analyst.socket); /* which ends it */
  *source = (struct hwi_live_source){.is_used = false};
}

void hwi_live_source_store_document(struct hwi_live_source *source, const struct hwi_live_answer *answer)
{
  struct hwi_live_document *document = &source->documents[answer->form];
  drop(document);
  document->fd = answer->fd;
  document->bytes = answer->bytes;
  document->number++;
  document->made_ms = hwi_os_monotonic_ms();
  document->behind_ms = answer->behind_ns / 1000000;
  document->state = answer->state;
  memcpy(document->error, answer->error, sizeof document->error);
}

void hwi_live_source_store(struct hwi_live_source *source, const struct hwi_live_answer *answer)
{
  hwi_live_source_store_document(source, answer);
  source->documents[HWI_LIVE_STATE].state = answer->state;
  source->answered_ms = hwi_os_monotonic_ms();
  source->is_asked = false;
}

void hwi_live_source_fail(struct hwi_live_source *source, const char *why)
{
  for (int form = 0; form < HWI_LIVE_FORMS; form++) {
    drop(&source->documents[form]);
    snprintf(source->documents[form].error, sizeof source->documents[form].error, "%s", why);
  }
  if (source->analyst.socket >= 0)
    close(source->analyst.socket);
  source->analyst.socket = -1;
  source->is_asked = false;
}

bool hwi_live_source_is_over(const struct hwi_live_source *source)
{
  const enum hwi_follow_state state = source->documents[HWI_LIVE_STATE].state;
  return source->answered_ms && state != HWI_FOLLOW_MORE && state != HWI_FOLLOW_WAITS;
}

bool hwi_live_source_is_fresh(const struct hwi_live_source *source, enum hwi_live_form form, uint64_t after)
{
  const struct hwi_live_document *document = &source->documents[form];
  const bool is_of_its_moment = form == HWI_LIVE_NOW || form == HWI_LIVE_SAVED;
  return !is_of_its_moment && document->number > after && hwi_os_monotonic_ms() - document->made_ms <= FRESH_MS;
}
