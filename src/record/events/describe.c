/* describe.c - writes the description of the image into its trace */
#include "record/events/describe.h"

#include <string.h>

#include "platform/os.h"
#include "record/events/notes.h"
#include "record/options.h"
#include "record/session.h"

enum { LONGEST_TEXT = 16 << 10, RSS_INTERVAL_NS = 100000000 };

static void put_text(struct hwi_lane *lane, enum hw_record_type type, const char *text, long bytes)
{
  if (bytes > 0)
    hwi_lane_put_record(lane, type, (struct hwi_bytes){0}, (struct hwi_bytes){text, (uint32_t)bytes});
}

struct environment {
  char *text;
  size_t bytes;
};

static void add_variable(void *context, const char *variable)
{
  struct environment *environment = context;
  size_t n = strlen(variable) + 1;
  if (n > LONGEST_TEXT - environment->bytes)
    return;
  memcpy(environment->text + environment->bytes, variable, n);
  environment->bytes += n;
}

void hwi_describe_image(struct hwi_lane *lane)
{
  char *text = hwi_os_map(LONGEST_TEXT); /* the target's stack may be too small for it */
  if (!text)
    return;
  put_text(lane, HW_RECORD_COMMAND, text, hwi_os_command_line(text, LONGEST_TEXT));
  put_text(lane, HW_RECORD_EXE, text, hwi_os_executable_path(text, HWI_OS_PATH_BYTES));
  put_text(lane, HW_RECORD_CWD, text, hwi_os_folder_path(text, HWI_OS_PATH_BYTES));
  struct environment environment = {text, 0};
  hwi_options_each_relevant(add_variable, &environment);
  put_text(lane, HW_RECORD_ENV, text, (long)environment.bytes);
  hwi_os_unmap(text, LONGEST_TEXT);
  hwi_notes_put(lane);
}

void hwi_describe_rss(struct hwi_lane *lane, bool at_end)
{
  if (hwi_session.has_launcher || hwi_os_is_sealed()) /* the launcher reads it from outside, where no sandbox matters */
    return;
  uint64_t now = hwi_os_monotonic_ns(), last = atomic_load_explicit(&hwi_session.last_rss_ns, memory_order_relaxed);
  if ((now - last < RSS_INTERVAL_NS && !at_end) ||
      !atomic_compare_exchange_strong(&hwi_session.last_rss_ns, &last, now))
    return;
  uint8_t head[HWI_VARINT_MAX_BYTES];
  uint64_t bytes = hwi_os_rss_peak_bytes();
  hwi_session.header->rss_peak_bytes = bytes;
  hwi_lane_put_record(lane, HW_RECORD_RSS, (struct hwi_bytes){head, (uint32_t)(hwi_put_varint(head, bytes) - head)},
                      (struct hwi_bytes){0});
}
