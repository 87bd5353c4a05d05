/* upload.c - one request that sends files as a form, tried again as long as it may succeed
 *
 * A server that cannot be reached, is silent for a quarter of the time, has an error of its own (5xx) or asks to wait (408, 429) is tried
 * again, with pauses that double, until the time is over. A request that it refuses is not. The status decides as soon as it is
 * there: a profile that the server has taken must not be sent again because the rest of its answer does not come.
 */
#include "push/upload.h"

#include <signal.h>
#include <string.h>
#include <time.h>

#include "base/version.h"
#include "platform/os.h"
#include "push/curl_library.h"
#include "report/words/line.h"

enum {
  FIRST_PAUSE_MS = 500,
  LAST_PAUSE_MS = 16000,
  CONNECT_MS = 10000,
  SHOWN_CHARS = 200, /* of a refusal */
  ANSWER_MAX_BYTES = 1 << 20,
  WAIT_MAX_S = 86400,
  OK = 200,
  REDIRECTION = 300,
  REFUSAL = 400,
  TIMEOUT = 408,
  TOO_MANY = 429,
  SERVER_ERROR = 500,
};
static const uint64_t ms_ns = 1000000, second_ms = 1000;

struct attempt {
  const struct hwi_curl_library *library;
  CURL *curl;
  CURLcode code;
  long status;      /* of HTTP; 0: no answer */
  long retry_after; /* in seconds; 0: the server has not said */
  char why[CURL_ERROR_SIZE];
  char answer[SHOWN_CHARS + 1]; /* its begin */
  size_t answer_bytes, received_bytes;
};

static size_t take_answer(char *bytes, size_t size, size_t count, void *context)
{
  struct attempt *attempt = context;
  const size_t given = size * count, room = SHOWN_CHARS - attempt->answer_bytes, taken = given < room ? given : room;
  memcpy(attempt->answer + attempt->answer_bytes, bytes, taken);
  attempt->answer_bytes += taken;
  attempt->answer[attempt->answer_bytes] = 0;
  attempt->received_bytes += given;
  return attempt->received_bytes > ANSWER_MAX_BYTES ? 0 : given; /* 0 ends the request */
}

static void set_up(struct attempt *attempt, const struct hwi_upload *upload, curl_mime *form,
                   struct curl_slist *headers)
{
  const struct hwi_curl_library *library = attempt->library;
  CURL *curl = attempt->curl;
  library->easy_setopt(curl, CURLOPT_URL, upload->url);
  library->easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  library->easy_setopt(curl, CURLOPT_MIMEPOST, form);
  library->easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
  library->easy_setopt(curl, CURLOPT_USERAGENT, "heapwright/" HWI_VERSION);
  library->easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  library->easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
  library->easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  library->easy_setopt(curl, CURLOPT_LOW_SPEED_TIME,
                       (long)(upload->most_ns / ms_ns / second_ms / 4)); /* 0: not limited */
  library->easy_setopt(curl, CURLOPT_ERRORBUFFER, attempt->why);
  library->easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_answer);
  library->easy_setopt(curl, CURLOPT_WRITEDATA, attempt);
  if (upload->token) {
    library->easy_setopt(curl, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
    library->easy_setopt(curl, CURLOPT_XOAUTH2_BEARER, upload->token);
  }
}

static bool add_parts(const struct hwi_curl_library *library, curl_mime *form, const struct hwi_upload *upload)
{
  for (size_t i = 0; i < upload->part_count; i++) {
    const struct hwi_upload_part *part = &upload->parts[i];
    curl_mimepart *made = library->mime_addpart(form);
    if (!made || library->mime_name(made, part->name) != CURLE_OK ||
        library->mime_filename(made, part->name) != CURLE_OK || library->mime_type(made, part->type) != CURLE_OK ||
        library->mime_data(made, part->bytes, part->count) != CURLE_OK)
      return false;
  }
  return true;
}

static void perform(struct attempt *attempt, uint64_t left_ms)
{
  curl_off_t after = 0;
  attempt->why[0] = attempt->answer[0] = 0;
  attempt->answer_bytes = attempt->received_bytes = 0;
  attempt->status = 0;
  attempt->library->easy_setopt(attempt->curl, CURLOPT_TIMEOUT_MS, (long)left_ms);
  attempt->code = attempt->library->easy_perform(attempt->curl);
  attempt->library->easy_getinfo(attempt->curl, CURLINFO_RESPONSE_CODE, &attempt->status);
  attempt->library->easy_getinfo(attempt->curl, CURLINFO_RETRY_AFTER, &after);
  attempt->retry_after = after < WAIT_MAX_S ? (long)after : WAIT_MAX_S;
}

/* 1xx is not the answer yet. */
static bool has_status(const struct attempt *attempt)
{
  return attempt->status >= OK;
}

/* What a wrong address or certificate is now, it is later, too. */
static bool may_succeed_later(const struct attempt *attempt)
{
  if (has_status(attempt))
    return attempt->status == TIMEOUT || attempt->status == TOO_MANY || attempt->status >= SERVER_ERROR;
  switch (attempt->code) {
  case CURLE_COULDNT_RESOLVE_PROXY:
  case CURLE_COULDNT_RESOLVE_HOST:
  case CURLE_COULDNT_CONNECT:
  case CURLE_OPERATION_TIMEDOUT:
  case CURLE_GOT_NOTHING:
  case CURLE_SEND_ERROR:
  case CURLE_RECV_ERROR:
  case CURLE_HTTP2:
    return true;
  default:
    return false;
  }
}

/* Puts why the last attempt failed. */
static int say_failure(const struct hwi_upload *upload, const struct attempt *attempt, uint32_t attempts,
                       struct hwi_error *error)
{
  struct hwi_line why = {0};
  if (!has_status(attempt)) {
    hwi_line_clean(&why, attempt->why[0] ? attempt->why : attempt->library->easy_strerror(attempt->code));
  } else {
    hwi_line_printf(&why, "the server answered %ld", attempt->status);
    if (attempt->status >= REDIRECTION && attempt->status < REFUSAL)
      hwi_line_puts(&why, ", a redirection; use the address that it redirects to");
    char first[sizeof attempt->answer];
    memcpy(first, attempt->answer, sizeof first);
    first[strcspn(first, "\r\n")] = 0;
    if (first[0]) {
      hwi_line_puts(&why, ": ");
      hwi_line_clean(&why, first);
    }
  }
  if (attempts > 1)
    hwi_line_printf(&why, " (tried %u times)", attempts);
  const int status = hwi_error_set(error, HW_ERR_IO, "cannot send to %s: %s", upload->shown, hwi_line_text(&why));
  hwi_line_release(&why);
  return status;
}

static uint64_t pause_ms(const struct attempt *attempt, uint32_t attempts)
{
  uint64_t ms = FIRST_PAUSE_MS;
  for (uint32_t i = 1; i < attempts && ms < LAST_PAUSE_MS; i++)
    ms *= 2;
  const uint64_t asked_ms = (uint64_t)(attempt->retry_after > 0 ? attempt->retry_after : 0) * second_ms;
  return asked_ms > ms ? asked_ms : ms;
}

static int try_until(struct attempt *attempt, const struct hwi_upload *upload, uint32_t *attempts,
                     struct hwi_error *error)
{
  const uint64_t end_ms = hwi_os_monotonic_ms() + upload->most_ns / ms_ns;
  for (uint64_t now_ms = hwi_os_monotonic_ms();; now_ms = hwi_os_monotonic_ms()) {
    perform(attempt, end_ms > now_ms ? end_ms - now_ms : 1);
    ++*attempts;
    if (has_status(attempt) && attempt->status < REDIRECTION)
      return 0;
    const uint64_t pause = pause_ms(attempt, *attempts);
    if (!may_succeed_later(attempt) || hwi_os_monotonic_ms() + pause >= end_ms)
      return say_failure(upload, attempt, *attempts, error);
    const struct timespec wait = {(time_t)(pause / second_ms), (long)(pause % second_ms * ms_ns)};
    nanosleep(&wait, NULL);
  }
}

int hwi_upload(const struct hwi_upload *upload, uint32_t *attempts, struct hwi_error *error)
{
  struct hwi_curl_library library;
  *attempts = 0;
  signal(SIGPIPE, SIG_IGN); /* for libraries of TLS that write to a connection which the server has closed */
  int status = hwi_curl_library_load(&library, error);
  if (status < 0)
    return status;
  const bool is_ready = library.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  struct attempt attempt = {.library = &library, .curl = is_ready ? library.easy_init() : NULL};
  curl_mime *form = attempt.curl ? library.mime_init(attempt.curl) : NULL;
  struct curl_slist *headers = library.slist_append(NULL, "Expect:"); /* else curl waits for servers that ignore it */
  if (form && headers && add_parts(&library, form, upload)) {
    set_up(&attempt, upload, form, headers);
    status = try_until(&attempt, upload, attempts, error);
  } else {
    status = hwi_error_set(error, HW_ERR_MEMORY, "no memory to send a profile");
  }
  library.slist_free_all(headers);
  library.mime_free(form);
  library.easy_cleanup(attempt.curl);
  if (is_ready)
    library.global_cleanup();
  return status;
}
