/* replayer.c - replays the events of a recording */
#include "report/replayer.h"

struct events {
  const struct hwi_block_sink *sink;
  uint64_t from_ns, to_ns; /* UINT64_MAX: to the end */
  uint64_t calls_left;     /* of the calls that the profile counted */
};

static bool take(void *context, const struct hwi_block_event *event)
{
  struct events *events = context;
  if (event->ns >= events->to_ns)
    return false;
  const uint64_t calls = event->ns >= events->from_ns ? hwi_block_calls(event) : 0;
  if (calls > 0 && events->calls_left == 0)
    return false;
  events->calls_left -= calls < events->calls_left ? calls : events->calls_left;
  return events->sink->take(events->sink->context, event);
}

static bool take_scope(void *context, const struct hwi_scope_event *event)
{
  const struct events *events = context;
  return event->ns < events->to_ns && events->sink->take_scope(events->sink->context, event);
}

int hwi_replayer_run(const struct hwi_replayer *replayer, const struct hwi_profile *profile,
                     const struct hwi_block_sink *sink, struct hwi_error *error)
{
  uint64_t end_ns = hwi_profile_end_ns(profile);
  struct events events = {
      .sink = sink,
      .from_ns = hwi_profile_from_ns(profile),
      .to_ns = end_ns < profile->duration_ns ? end_ns : UINT64_MAX,
      .calls_left = profile->is_of_memory ? UINT64_MAX : hwi_profile_event_calls(profile),
  };
  const struct hwi_block_sink counting = {take, &events, sink->take_scope ? take_scope : NULL, sink->wants_texts};
  int status = replayer->run(replayer->context, &counting, error);
  return status == HW_ERR_LIMIT ? HW_OK : status;
}
