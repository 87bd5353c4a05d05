/* push.c - sends the profile of a recording to a server that collects profiles: Pyroscope's POST /ingest
 *
 * https://grafana.com/docs/pyroscope/latest/configure-server/about-server-api/ describes the request.
 */
#define _GNU_SOURCE
#include "push/push.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/command_name.h"
#include "base/suffix.h"
#include "export/export.h"
#include "push/upload.h"
#include "report/content/evidence.h"
#include "report/words/line.h"
#include "report/words/memory_stream.h"

/* In use is averaged over time, what was allocated is added. No value is sampled: estimates are scaled already. */
static const char type_config[] =
    "{\"alloc_objects\":{\"units\":\"objects\",\"aggregation\":\"sum\",\"display-name\":\"alloc_objects\",\"sampled\":false},"
    "\"alloc_space\":{\"units\":\"bytes\",\"aggregation\":\"sum\",\"display-name\":\"alloc_space\",\"sampled\":false},"
    "\"inuse_objects\":{\"units\":\"objects\",\"aggregation\":\"average\",\"display-name\":\"inuse_objects\",\"sampled\":false},"
    "\"inuse_space\":{\"units\":\"bytes\",\"aggregation\":\"average\",\"display-name\":\"inuse_space\",\"sampled\":false}}";
static const uint64_t second_ns = 1000000000;

/* --- what the user gives --- */

/* Returns the length of the URL up to its path, or 0 if it is no URL of a server. */
static size_t origin_bytes(const char *url)
{
  const size_t scheme = strncmp(url, "http://", 7) == 0 ? 7 : strncmp(url, "https://", 8) == 0 ? 8 : 0;
  const size_t host = scheme > 0 ? strcspn(url + scheme, "/?#") : 0;
  return host > 0 ? scheme + host : 0;
}

const char *hwi_push_shown(const char *url)
{
  const char *credentials = memrchr(url, '@', origin_bytes(url));
  return credentials ? credentials + 1 : url;
}

/* These end a name or a label in Pyroscope's notation. */
static bool is_plain(const char *text)
{
  return *text && !strpbrk(text, "{},=\"\\") && strcspn(text, "\n\r\t") == strlen(text);
}

static bool is_label(const char *label)
{
  const size_t key = strcspn(label, "=");
  if (key == 0 || label[key] == 0 || isdigit((unsigned char)label[0]))
    return false;
  for (size_t i = 0; i < key; i++)
    if (!isalnum((unsigned char)label[i]) && label[i] != '_')
      return false;
  return is_plain(label + key + 1);
}

int hwi_push_check(const struct hwi_push *push, struct hwi_error *error)
{
  if (origin_bytes(push->url) == 0 || strpbrk(push->url, "?#"))
    return hwi_error_set(error, HW_ERR_USAGE,
                         "'%s' is no address of a server, such as http://pyroscope:4040 or https://HOST/PATH",
                         hwi_push_shown(push->url));
  if (push->name && !is_plain(push->name))
    return hwi_error_set(error, HW_ERR_USAGE, "'%s' is no name of an application: it has text without {},=\"\\",
                         push->name);
  for (size_t i = 0; i < push->labels->count; i++)
    if (!is_label(push->labels->items[i]))
      return hwi_error_set(error, HW_ERR_USAGE,
                           "'%s' is no label: it is KEY=VALUE, KEY of letters, digits and _, VALUE without {},=\"\\",
                           push->labels->items[i]);
  return 0;
}

/* --- the request --- */

static void add_escaped(struct hwi_line *line, const char *text)
{
  for (; *text; text++)
    if (isalnum((unsigned char)*text) || strchr("-._~", *text))
      hwi_line_add(line, text, 1);
    else
      hwi_line_printf(line, "%%%02X", (unsigned)(unsigned char)*text);
}

/* Adds "NAME{KEY=VALUE,...}". */
static void add_name(struct hwi_line *line, const struct hwi_push *push, const struct hwi_image *image)
{
  struct hwi_line name = {0};
  struct hwi_command_name program = hwi_command_name(image && image->info->command ? image->info->command : "");
  const char *found = push->name ? push->name : program.text;
  hwi_line_puts(&name, is_plain(found) ? found : "program");
  hwi_line_puts(&name, "{");
  for (size_t i = 0; i < push->labels->count; i++)
    hwi_line_printf(&name, "%s%s", i > 0 ? "," : "", push->labels->items[i]);
  hwi_line_puts(&name, "}");
  add_escaped(line, hwi_line_text(&name));
  line->failed |= name.failed;
  hwi_line_release(&name);
}

static void add_url(struct hwi_line *line, const struct hwi_push *push, const struct hwi_profile *profile)
{
  static const char path[] = "/ingest";
  const struct hwi_image *image = hwi_largest_image(profile, NULL);
  size_t bytes = strlen(push->url);
  while (bytes > 0 && push->url[bytes - 1] == '/')
    bytes--;
  hwi_line_add(line, push->url, bytes);
  if (!hwi_has_suffix(push->url, bytes, path))
    hwi_line_puts(line, path);
  const uint64_t from_ns = (image ? image->info->header.start_realtime_ns : 0) + hwi_profile_from_ns(profile);
  const uint64_t to_ns = from_ns + hwi_profile_end_ns(profile) - hwi_profile_from_ns(profile);
  const uint64_t from = from_ns / second_ns, to = (to_ns + second_ns - 1) / second_ns;
  hwi_line_puts(line, "?name=");
  add_name(line, push, image);
  hwi_line_printf(line, "&from=%" PRIu64 "&until=%" PRIu64 "&format=pprof&spyName=heapwright", from,
                  to > from ? to : from + 1);
}

static int write_profile(const struct hwi_report *report, struct hwi_memory_stream *written, struct hwi_error *error)
{
  FILE *out = hwi_memory_stream_begin(written);
  if (!out)
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory for a profile");
  struct hwi_export_request request = {.report = *report, .is_sent = true, .out = out};
  int status = hwi_export_write(&hwi_export_pprof, &request, error);
  hwi_line_release(&request.remarks);
  if (!hwi_memory_stream_end(written, out) && status == 0)
    status = hwi_error_set(error, HW_ERR_MEMORY, "no memory for a profile");
  if (status == 0 && written->bytes > HWI_PUSH_BYTES_MAX)
    status = hwi_error_set(error, HW_ERR_LIMIT,
                           "the profile has %zu bytes, and at most %d are sent: choose one process with --pid",
                           written->bytes, HWI_PUSH_BYTES_MAX);
  return status;
}

int hwi_push(const struct hwi_push *push, const struct hwi_report *report, struct hwi_pushed *pushed,
             struct hwi_error *error)
{
  struct hwi_memory_stream profile = {0};
  struct hwi_line url = {0}, shown = {0};
  *pushed = (struct hwi_pushed){0};
  int status = write_profile(report, &profile, error);
  if (status == 0) {
    const struct hwi_upload_part parts[] = {
        {"profile", "application/octet-stream", profile.text, profile.bytes},
        {"sample_type_config", "application/json", type_config, sizeof type_config - 1},
    };
    add_url(&url, push, report->profile);
    hwi_line_clean(&shown, hwi_push_shown(push->url));
    pushed->bytes = profile.bytes;
    status = url.failed ? hwi_error_set(error, HW_ERR_MEMORY, "no memory to send a profile")
                        : hwi_upload(&(struct hwi_upload){hwi_line_text(&url), hwi_line_text(&shown), push->token,
                                                          parts, sizeof parts / sizeof *parts, push->most_ns},
                                     &pushed->attempts, error);
  }
  hwi_line_release(&url);
  hwi_line_release(&shown);
  hwi_memory_stream_release(&profile);
  return status;
}
