/* pprof.c - the heap as profiles in pprof's format, under the paths of Go's net/http/pprof */
#include "live/fleet/pprof.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "export/compression.h"
#include "export/export.h"
#include "export/pprof/pprof_difference.h"
#include "live/http.h"
#include "platform/os_tools.h"
#include "report/words/line.h"
#include "report/words/memory_stream.h"

enum { SECONDS_MAX = 3600 };

int hwi_pprof_write(const struct hwi_report *report, bool is_of_allocs, FILE *out, struct hwi_error *error)
{
  struct hwi_export_request request = {.report = *report, .is_present = true, .is_sent = true, .out = out};
  request.report.options.cost = is_of_allocs ? HWI_COST_BYTES : HWI_COST_LIVE;
  const int status = hwi_export_write(&hwi_export_pprof, &request, error);
  hwi_line_release(&request.remarks);
  return status;
}

static int write_heap(const struct hwi_live_part_source *source, FILE *out, struct hwi_error *error)
{
  return hwi_pprof_write(source->report, false, out, error);
}

static int write_allocs(const struct hwi_live_part_source *source, FILE *out, struct hwi_error *error)
{
  return hwi_pprof_write(source->report, true, out, error);
}

/* --- the answer --- */

static enum MHD_Result send_profile(struct MHD_Connection *connection, struct MHD_Response *response)
{
  hwi_http_add_header(response, "Content-Disposition", "attachment; filename=\"profile.pb.gz\"");
  return hwi_http_answer(connection, MHD_HTTP_OK, response, HWI_PPROF_TYPE);
}

static enum MHD_Result send_part(struct MHD_Connection *connection, const struct hwi_live_part *part)
{
  return send_profile(connection, hwi_http_response_of_file(part->fd, part->bytes));
}

static FILE *open_part(int fd)
{
  char path[HWI_OS_LINK_PATH_BYTES];
  hwi_os_fd_path(path, fd);
  return hwi_decompressed_open(path);
}

static enum MHD_Result send_difference(struct MHD_Connection *connection, const struct hwi_live_part *part)
{
  struct hwi_memory_stream written = {0};
  struct hwi_error error = {.text = "no memory to compare two profiles"};
  FILE *earlier = open_part(part->earlier_fd), *later = open_part(part->fd), *out = hwi_memory_stream_begin(&written);
  int status = earlier && later && out ? hwi_pprof_difference(earlier, later, out, &error) : HW_ERR_MEMORY;
  if (out && !hwi_memory_stream_end(&written, out))
    status = HW_ERR_MEMORY;
  if (earlier)
    fclose(earlier);
  if (later)
    fclose(later);
  const enum MHD_Result result = status < 0 ? hwi_http_say(connection, MHD_HTTP_SERVICE_UNAVAILABLE, error.text)
                                            : send_profile(connection, hwi_http_response(written.text, written.bytes));
  hwi_memory_stream_release(&written);
  return result;
}

/* A profile is of one program. */
static enum MHD_Result say_which(struct MHD_Connection *connection, const struct hwi_live_parts *parts)
{
  struct hwi_line line = {0};
  if (parts->count == 0)
    hwi_line_puts(&line, "no recording goes on, or none that has this process\n");
  else
    hwi_line_printf(&line, "%u recordings go on; choose one by a process of it, ?pid=N (/metrics has their PIDs):\n",
                    parts->count);
  for (uint32_t i = 0; i < parts->count; i++) {
    hwi_line_clean(&line, parts->items[i].name);
    hwi_line_puts(&line, "\n");
  }
  const enum MHD_Result result =
      hwi_http_say(connection, parts->count == 0 ? MHD_HTTP_NOT_FOUND : MHD_HTTP_CONFLICT, hwi_line_text(&line));
  hwi_line_release(&line);
  return result;
}

static enum MHD_Result answer(struct MHD_Connection *connection, const struct hwi_live_query *query,
                              const struct hwi_live_parts *parts)
{
  const struct hwi_live_part *part = parts->items;
  const bool is_difference = query->numbers[HWI_LIVE_SECONDS] > 0;
  if (parts->count != 1)
    return say_which(connection, parts);
  if (part->error)
    return hwi_http_say(connection, MHD_HTTP_SERVICE_UNAVAILABLE, part->error);
  return is_difference ? send_difference(connection, part) : send_part(connection, part);
}

const struct hwi_live_endpoint hwi_live_pprof_heap = {
    .path = HWI_PPROF_HEAP,
    .about =
        "what is live, for go tool pprof; ?seconds=N: what changes within N seconds; ?pid=N: of the recording of a process",
    .most = {[HWI_LIVE_PID] = INT32_MAX, [HWI_LIVE_SECONDS] = SECONDS_MAX},
    .needs_names = true,
    .write = write_heap,
    .answer = answer,
};

const struct hwi_live_endpoint hwi_live_pprof_allocs = {
    .path = HWI_PPROF_ALLOCS,
    .about = "the same, but all that was allocated is shown first",
    .most = {[HWI_LIVE_PID] = INT32_MAX, [HWI_LIVE_SECONDS] = SECONDS_MAX},
    .needs_names = true,
    .write = write_allocs,
    .answer = answer,
};
