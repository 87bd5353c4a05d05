/* start_texts.c - the arguments or the variables that the program was started with, as a list */
#include "record/start_texts.h"

#include <string.h>

#include "platform/os.h"

enum { FIRST_ROOM = 64 << 10, LARGEST_ROOM = 8 << 20 }; /* the kernel accepts 6 MB of arguments and variables */

void hwi_start_texts_release(struct hwi_start_texts *texts)
{
  if (texts->bytes)
    hwi_os_unmap(texts->bytes, texts->room);
  if (texts->list)
    hwi_os_unmap(texts->list, texts->list_bytes);
}

static bool read_bytes(struct hwi_start_texts *texts, long (*read)(char *to, size_t bytes))
{
  for (size_t room = FIRST_ROOM; room <= LARGEST_ROOM; room *= 2) {
    char *bytes = hwi_os_map(room);
    if (!bytes)
      return false;
    texts->length = read(bytes, room);
    if (texts->length >= 0 && texts->length < (long)room) { /* a NUL comes after them, whatever they end with */
      texts->bytes = bytes;
      texts->room = room;
      return true;
    }
    hwi_os_unmap(bytes, room);
  }
  return false;
}

bool hwi_start_texts_read(struct hwi_start_texts *texts, long (*read)(char *to, size_t bytes))
{
  size_t count = 0;
  if (!read_bytes(texts, read))
    return false;
  for (long at = 0; at < texts->length; at += (long)strlen(texts->bytes + at) + 1)
    count++;
  texts->list_bytes = (count * sizeof(char *) / HWI_OS_PAGE_BYTES + 1) * HWI_OS_PAGE_BYTES; /* one more: NULL */
  texts->list = hwi_os_map(texts->list_bytes);
  if (!texts->list)
    return false;
  count = 0;
  for (long at = 0; at < texts->length; at += (long)strlen(texts->bytes + at) + 1)
    texts->list[count++] = texts->bytes + at;
  return true;
}
