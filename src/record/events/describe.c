/* describe.c - writes the description of the image into its trace */
#include "record/events/describe.h"

#include <string.h>

#include "base/decimal.h"
#include "platform/os.h"
#include "record/options.h"
#include "record/runtime/boot.h"
#include "record/runtime/foreign.h"
#include "record/runtime/real.h"
#include "record/runtime/redirect.h"
#include "record/runtime/redirected.h"
#include "record/session.h"

enum { LONGEST_TEXT = 16 << 10, RSS_INTERVAL_NS = 100000000, MOST_NOTES = 12, LONGEST_PATH = 512 };

/* --- notes --- */

static struct {
  uint8_t kind; /* enum hw_note */
  uint16_t bytes;
  char path[LONGEST_PATH];
} notes[MOST_NOTES];
static uint32_t note_count;

/* The notes are searched for only once, because the search calls the loader, which a forked child of a threaded program
 * must not do. They are stored for such children. */
static void remember(enum hw_note kind, const char *module)
{
  if (note_count == MOST_NOTES)
    return;
  notes[note_count].kind = (uint8_t)kind;
  long bytes = (long)strnlen(module, LONGEST_PATH);
  if (bytes)
    memcpy(notes[note_count].path, module, (size_t)bytes);
  else
    bytes = hwi_os_executable_path(notes[note_count].path, LONGEST_PATH);
  notes[note_count++].bytes = bytes > 0 ? (uint16_t)bytes : 0;
}

void hwi_notes_find(void)
{
  if (!hwi_real_is_loaded_late && !hwi_real_is_left_alone)
    hwi_redirect_all(hwi_session.options.redirect, remember);
  if (hwi_redirected_count() > 0)
    hwi_real_find();
  hwi_foreign_find(remember);
}

void hwi_notes_put(struct hwi_lane *lane)
{
  for (uint32_t i = 0; i < note_count; i++)
    hwi_lane_put_record(lane, HW_RECORD_NOTE, (struct hwi_bytes){&notes[i].kind, 1},
                        (struct hwi_bytes){notes[i].path, notes[i].bytes});
}

static void put_boot_blocks(struct hwi_lane *lane)
{
  const uint8_t kind = HW_NOTE_BOOT_BLOCKS;
  char digits[HWI_DECIMAL_DIGITS];
  const char *first = hwi_decimal(digits, hwi_boot_block_count());
  if (hwi_boot_block_count())
    hwi_lane_put_record(lane, HW_RECORD_NOTE, (struct hwi_bytes){&kind, 1},
                        (struct hwi_bytes){first, (uint32_t)(digits + sizeof digits - first)});
}

/* --- the image --- */

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
  put_boot_blocks(lane);
}

/* --- resident memory --- */

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
