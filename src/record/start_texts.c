/* start_texts.c - the arguments or the variables that the program was started with, as a list for exec */
#include "record/start_texts.h"

#include <string.h>

#include "platform/os.h"

enum {
  LARGEST_TEXT = 8 << 20, /* the kernel accepts 6 MB of arguments and variables */
  MOST_TEXTS = LARGEST_TEXT / sizeof(char *) - 1,
};

void hwi_start_texts_release(struct hwi_start_texts *texts)
{
  if (texts->bytes)
    hwi_os_unmap(texts->bytes, LARGEST_TEXT);
  if (texts->list)
    hwi_os_unmap(texts->list, LARGEST_TEXT);
}

bool hwi_start_texts_read(struct hwi_start_texts *texts, long (*read)(char *to, size_t bytes))
{
  texts->bytes = hwi_os_map(LARGEST_TEXT);
  texts->list = hwi_os_map(LARGEST_TEXT);
  texts->length = texts->bytes && texts->list ? read(texts->bytes, LARGEST_TEXT) : -1;
  if (texts->length < 0 || texts->length == LARGEST_TEXT)
    return false;
  size_t count = 0;
  for (long at = 0; at < texts->length && count < MOST_TEXTS; at += (long)strlen(texts->bytes + at) + 1)
    texts->list[count++] = texts->bytes + at;
  return true;
}
