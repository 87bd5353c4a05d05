/* notes.c - the trace's notes about what the recorder cannot see in this program
 *
 * They are searched for only once, because the search calls the loader, which a forked child of a threaded program must
 * not do. They are stored for such children.
 */
#include "record/events/notes.h"

#include <string.h>

#include "base/decimal.h"
#include "platform/os.h"
#include "record/runtime/boot.h"
#include "record/runtime/foreign.h"

enum { MOST_NOTES = 8, LONGEST_PATH = 512 };

static struct {
  uint8_t kind; /* enum hw_note */
  uint16_t bytes;
  char path[LONGEST_PATH];
} notes[MOST_NOTES];
static uint32_t note_count;

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

bool hwi_notes_find(void)
{
  hwi_foreign_find(remember);
  return note_count > 0;
}

void hwi_notes_put(struct hwi_lane *lane)
{
  for (uint32_t i = 0; i < note_count; i++)
    hwi_lane_put_record(lane, HW_RECORD_NOTE, (struct hwi_bytes){&notes[i].kind, 1},
                        (struct hwi_bytes){notes[i].path, notes[i].bytes});
  if (hwi_boot_block_count()) {
    uint8_t kind = HW_NOTE_BOOT_BLOCKS;
    char digits[HWI_DECIMAL_DIGITS];
    const char *first = hwi_decimal(digits, hwi_boot_block_count());
    hwi_lane_put_record(lane, HW_RECORD_NOTE, (struct hwi_bytes){&kind, 1},
                        (struct hwi_bytes){first, (uint32_t)(digits + sizeof digits - first)});
  }
}
