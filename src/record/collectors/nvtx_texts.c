/* nvtx_texts.c - names and numbers in the calls of NVTX */
#include "record/collectors/nvtx_texts.h"

#include "record/events/scope_names.h"

/* Writes one character. Returns its length. */
static size_t put_character(char to[4], uint32_t character)
{
  static const uint32_t limits[] = {0x80, 0x800, 0x10000};
  size_t more = 0; /* bytes after the first one */
  while (more < 3 && character >= limits[more])
    more++;
  static const uint8_t first[] = {0, 0xc0, 0xe0, 0xf0};
  to[0] = (char)(first[more] | character >> 6 * more);
  for (size_t i = 1; i <= more; i++)
    to[i] = (char)(0x80 | (character >> 6 * (more - i) & 0x3f));
  return more + 1;
}

void hwi_wide_to_utf8(char *to, size_t room, const wchar_t *text)
{
  enum { REPLACEMENT = 0xfffd, LONGEST = 4 };
  char bytes[LONGEST];
  for (; *text; text++) {
    uint32_t character = (uint32_t)*text;
    bool is_valid = character < 0xd800 || (character > 0xdfff && character < 0x110000);
    size_t count = put_character(bytes, is_valid ? character : REPLACEMENT);
    if (count >= room)
      break;
    for (size_t i = 0; i < count; i++)
      *to++ = bytes[i];
    room -= count;
  }
  *to = 0;
}

uint32_t hwi_nvtx_name(const char *text, uint32_t otherwise)
{
  return text ? hwi_names_number(text) : otherwise;
}

uint32_t hwi_nvtx_wide_name(const wchar_t *text, uint32_t otherwise)
{
  char narrow[HWI_WIDE_TEXT_BYTES + 1];
  if (!text)
    return otherwise;
  hwi_wide_to_utf8(narrow, sizeof narrow, text);
  return hwi_names_number(narrow);
}

uint32_t hwi_nvtx_message(const struct hwi_nvtx_event *event, uint32_t otherwise)
{
  switch (event ? event->message_type : 0) {
  case HWI_NVTX_MESSAGE_ASCII:
    return hwi_nvtx_name(event->message.ascii, otherwise);
  case HWI_NVTX_MESSAGE_WIDE:
    return hwi_nvtx_wide_name(event->message.wide, otherwise);
  case HWI_NVTX_MESSAGE_REGISTERED: /* the handle is the number itself */
    if (event->message.registered < HWI_NAME_LIMIT && hwi_names_have((uint32_t)event->message.registered))
      return (uint32_t)event->message.registered;
    return otherwise;
  default:
    return otherwise;
  }
}

static bool is_whole(double value, uint64_t *number)
{
  static const double limit = 0x1p64;
  if (!(value >= 0 && value < limit) || (double)(uint64_t)value != value)
    return false;
  *number = (uint64_t)value;
  return true;
}

static bool is_natural(int64_t value, uint64_t *number)
{
  if (value < 0)
    return false;
  *number = (uint64_t)value;
  return true;
}

bool hwi_nvtx_payload(const struct hwi_nvtx_event *event, uint64_t *number)
{
  switch (event ? event->payload_type : 0) {
  case HWI_NVTX_PAYLOAD_U64:
    *number = event->payload.u64;
    return true;
  case HWI_NVTX_PAYLOAD_I64:
    return is_natural(event->payload.i64, number);
  case HWI_NVTX_PAYLOAD_DOUBLE:
    return is_whole(event->payload.whole, number);
  case HWI_NVTX_PAYLOAD_U32:
    *number = event->payload.u32;
    return true;
  case HWI_NVTX_PAYLOAD_I32:
    return is_natural(event->payload.i32, number);
  case HWI_NVTX_PAYLOAD_FLOAT:
    return is_whole((double)event->payload.single, number);
  default:
    return false;
  }
}
