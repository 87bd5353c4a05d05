/* metrics.c - /metrics: the figures of all runs, in OpenMetrics or in Prometheus's older text format */
#include "live/fleet/metrics.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/version.h"
#include "live/http.h"
#include "report/words/line.h"
#include "report/words/memory_stream.h"

#define ERROR_OF "of a sampled recording: half of the 95 % interval of "

const struct hwi_metric_family hwi_metric_families[HWI_METRICS] = {
    [HWI_METRIC_BUILD] = {"heapwright_build_info", NULL, false, "the version of heapwright that serves this"},
    [HWI_METRIC_LEFT_OUT] = {"heapwright_recordings_left_out", NULL, false,
                             "recordings that are not followed, because there are too many"},
    [HWI_METRIC_RECORDING_UP] = {"heapwright_recording_up", NULL, false,
                                 "1: the recording has figures, 0: it cannot be read, or not yet"},
    [HWI_METRIC_UP] = {"heapwright_up", NULL, false, "1: the process goes on, 0: it ended some minutes ago at most"},
    [HWI_METRIC_RECORDING] = {"heapwright_recording", NULL, false,
                              "1: calls are being recorded, 0: the recording is paused, or has no more room"},
    [HWI_METRIC_BEHIND] = {"heapwright_behind_seconds", "seconds", false, "how old the figures of the process are"},
    [HWI_METRIC_LIVE_BYTES] = {"heapwright_live_bytes", "bytes", false, "bytes that are allocated and not freed"},
    [HWI_METRIC_LIVE_BYTES_ERROR] = {"heapwright_live_bytes_error", NULL, false, ERROR_OF "heapwright_live_bytes"},
    [HWI_METRIC_LIVE_BLOCKS] = {"heapwright_live_blocks", NULL, false, "blocks that are allocated and not freed"},
    [HWI_METRIC_LIVE_BLOCKS_ERROR] = {"heapwright_live_blocks_error", NULL, false, ERROR_OF "heapwright_live_blocks"},
    [HWI_METRIC_PEAK] = {"heapwright_peak_bytes", "bytes", false, "most live bytes of the process at a time"},
    [HWI_METRIC_PEAK_ERROR] = {"heapwright_peak_bytes_error", NULL, false, ERROR_OF "heapwright_peak_bytes"},
    [HWI_METRIC_ALLOCATIONS] = {"heapwright_allocations", NULL, true, "calls that allocated a block"},
    [HWI_METRIC_ALLOCATIONS_ERROR] = {"heapwright_allocations_error", NULL, false,
                                      ERROR_OF "heapwright_allocations_total"},
    [HWI_METRIC_FREES] = {"heapwright_frees", NULL, true, "calls that freed a block"},
    [HWI_METRIC_ALLOCATED] = {"heapwright_allocated_bytes", "bytes", true, "bytes that were requested"},
    [HWI_METRIC_ALLOCATED_ERROR] = {"heapwright_allocated_bytes_error", NULL, false,
                                    ERROR_OF "heapwright_allocated_bytes_total"},
    [HWI_METRIC_FAILED] = {"heapwright_failed_calls", NULL, true, "allocations that failed"},
    [HWI_METRIC_LOST] = {"heapwright_lost_events", NULL, true, "calls that could not be recorded"},
    [HWI_METRIC_SAMPLE] = {"heapwright_sample_bytes", "bytes", false,
                           "bytes between two samples on average, 0: every call is recorded"},
    [HWI_METRIC_RSS] = {"heapwright_rss_bytes", "bytes", false,
                        "resident memory by part at the last sample, its sum is the RSS"},
    [HWI_METRIC_RSS_RECORDER] = {"heapwright_recorder_rss_bytes", "bytes", false,
                                 "the part of the resident memory that is the recorder's"},
    [HWI_METRIC_GROUP] = {"heapwright_cgroup_bytes", "bytes", false,
                          "memory of the control group of the process at the last sample, cached files included"},
    [HWI_METRIC_GROUP_LIMIT] = {"heapwright_cgroup_limit_bytes", "bytes", false, "the limit of that control group"},
    [HWI_METRIC_GROUP_KILLS] = {"heapwright_cgroup_oom_kills", NULL, true,
                                "processes of that control group that the kernel killed because memory ran out"},
    [HWI_METRIC_HEAP_LIVE] = {"heapwright_heap_live_bytes", "bytes", false, "live bytes of the program's own heaps"},
    [HWI_METRIC_HEAP_BLOCKS] = {"heapwright_heap_live_blocks", NULL, false, "live blocks of the program's own heaps"},
    [HWI_METRIC_HEAP_PEAK] = {"heapwright_heap_peak_bytes", "bytes", false, "most live bytes at a time"},
    [HWI_METRIC_HEAP_ALLOCATIONS] = {"heapwright_heap_allocations", NULL, true, "calls that allocated there"},
    [HWI_METRIC_HEAP_ALLOCATED] = {"heapwright_heap_allocated_bytes", "bytes", true, "bytes that were requested there"},
    [HWI_METRIC_SCOPE_INSTANCES] = {"heapwright_scope_instances", NULL, true, "how often the scope was entered"},
    [HWI_METRIC_SCOPE_ALLOCATIONS] = {"heapwright_scope_allocations", NULL, true,
                                      "calls that allocated in the scope, without the scopes inside it"},
    [HWI_METRIC_SCOPE_ALLOCATED] = {"heapwright_scope_allocated_bytes", "bytes", true,
                                    "bytes that were requested in the scope, without the scopes inside it"},
    [HWI_METRIC_SCOPE_ALLOCATIONS_ERROR] = {"heapwright_scope_allocations_error", NULL, false,
                                            ERROR_OF "heapwright_scope_allocations_total"},
    [HWI_METRIC_SCOPE_ALLOCATED_ERROR] = {"heapwright_scope_allocated_bytes_error", NULL, false,
                                          ERROR_OF "heapwright_scope_allocated_bytes_total"},
    [HWI_METRIC_STACK_LIVE] = {"heapwright_stack_live_bytes", "bytes", false, "live bytes by call stack"},
    [HWI_METRIC_STACK_BLOCKS] = {"heapwright_stack_live_blocks", NULL, false, "live blocks by call stack"},
    [HWI_METRIC_STACK_LIVE_ERROR] = {"heapwright_stack_live_bytes_error", NULL, false,
                                     ERROR_OF "heapwright_stack_live_bytes"},
    [HWI_METRIC_STACK_BLOCKS_ERROR] = {"heapwright_stack_live_blocks_error", NULL, false,
                                       ERROR_OF "heapwright_stack_live_blocks"},
};

static const char open_metrics[] = "application/openmetrics-text";

/* A line break within a label is escaped, so each line is a sample. */
void hwi_metric_label_add(struct hwi_line *line, const char *text)
{
  struct hwi_line valid = {0};
  char start[HWI_METRIC_LABEL_BYTES + 1];
  size_t bytes = strnlen(text, HWI_METRIC_LABEL_BYTES);
  if (text[bytes]) /* cut before a character, not in it */
    while (bytes > 0 && (text[bytes] & 0xC0) == 0x80)
      bytes--;
  memcpy(start, text, bytes);
  start[bytes] = 0;
  hwi_line_replace_invalid(&valid, start);
  for (const char *at = hwi_line_text(&valid); *at; at++) {
    if (*at == '\\' || *at == '"')
      hwi_line_printf(line, "\\%c", *at);
    else if (*at == '\n')
      hwi_line_puts(line, "\\n");
    else
      hwi_line_add(line, at, 1);
  }
  hwi_line_release_part(line, &valid);
}

/* --- the answer --- */

static void write_head(const struct hwi_metric_family *family, bool is_open, FILE *out)
{
  const char *suffix = family->is_counter && !is_open ? "_total" : ""; /* of the family, in the older format */
  fprintf(out, "# HELP %s%s %s\n# TYPE %s%s %s\n", family->name, suffix, family->help, family->name, suffix,
          family->is_counter ? "counter" : "gauge");
  if (family->unit && is_open)
    fprintf(out, "# UNIT %s %s\n", family->name, family->unit);
}

/* Reads a part; NULL if there is none. The caller frees it. */
static char *read_part(const struct hwi_live_part *part)
{
  char *text = part->fd >= 0 ? malloc(part->bytes + 1) : NULL;
  if (text)
    text[pread(part->fd, text, part->bytes, 0) == (ssize_t)part->bytes ? part->bytes : 0] = 0;
  return text;
}

static void write_server(const struct hwi_live_parts *parts, bool is_open, FILE *out)
{
  struct hwi_line line = {0};
  write_head(&hwi_metric_families[HWI_METRIC_BUILD], is_open, out);
  fprintf(out, "%s{version=\"%s\"} 1\n", hwi_metric_families[HWI_METRIC_BUILD].name, HWI_VERSION);
  write_head(&hwi_metric_families[HWI_METRIC_LEFT_OUT], is_open, out);
  fprintf(out, "%s %u\n", hwi_metric_families[HWI_METRIC_LEFT_OUT].name, parts->left_out);
  if (parts->count > 0)
    write_head(&hwi_metric_families[HWI_METRIC_RECORDING_UP], is_open, out);
  for (uint32_t i = 0; i < parts->count; i++) {
    hwi_line_clear(&line);
    hwi_metric_label_add(&line, parts->items[i].name);
    fprintf(out, "%s{recording=\"%s\"} %d\n", hwi_metric_families[HWI_METRIC_RECORDING_UP].name, hwi_line_text(&line),
            parts->items[i].fd >= 0);
  }
  hwi_line_release(&line);
}

/* Writes the lines of one family from where each part is, which moves on. */
static void write_family(enum hwi_metric metric, const char **at, uint32_t count, bool is_open, FILE *out)
{
  const char letter = (char)('A' + metric);
  bool has_head = false;
  for (uint32_t i = 0; i < count; i++)
    while (at[i] && *at[i] == letter) {
      if (!has_head)
        write_head(&hwi_metric_families[metric], is_open, out);
      has_head = true;
      const size_t bytes = strcspn(at[i], "\n");
      fwrite(at[i] + 1, 1, bytes, out);
      at[i] += bytes + (at[i][bytes] == '\n');
    }
}

static bool write_answer(const struct hwi_live_parts *parts, bool is_open, FILE *out)
{
  const uint32_t count = parts->count;
  char **texts = calloc((size_t)count + 1, sizeof *texts);
  const char **at = calloc((size_t)count + 1, sizeof *at);
  const bool done = texts && at;
  for (uint32_t i = 0; i < count && done; i++)
    at[i] = texts[i] = read_part(&parts->items[i]);
  if (done)
    write_server(parts, is_open, out);
  for (int metric = HWI_METRIC_RECORDING_UP + 1; metric < HWI_METRICS && done; metric++)
    write_family((enum hwi_metric)metric, at, count, is_open, out);
  if (is_open)
    fputs("# EOF\n", out);
  for (uint32_t i = 0; i < count && done; i++)
    free(texts[i]);
  free(texts);
  free(at);
  return done;
}

static enum MHD_Result answer(struct MHD_Connection *connection, const struct hwi_live_query *query,
                              const struct hwi_live_parts *parts)
{
  const char *accept = hwi_http_header(connection, MHD_HTTP_HEADER_ACCEPT);
  const bool is_open = accept && strstr(accept, open_metrics);
  struct hwi_memory_stream written = {0};
  FILE *out = hwi_memory_stream_begin(&written);
  (void)query;
  const bool is_complete = out && write_answer(parts, is_open, out);
  const bool done = out && hwi_memory_stream_end(&written, out) && is_complete;
  struct MHD_Response *response = done ? hwi_http_response(written.text, written.bytes) : NULL;
  hwi_memory_stream_release(&written);
  return hwi_http_answer(connection, MHD_HTTP_OK, response,
                         is_open ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                 : "text/plain; version=0.0.4; charset=utf-8");
}

const struct hwi_live_endpoint hwi_live_metrics = {
    .path = "/metrics",
    .about = "the figures of all processes, in OpenMetrics; ?top=N: also of the N stacks that hold most",
    .most = {[HWI_LIVE_TOP] = HWI_METRIC_TOP_MAX, [HWI_LIVE_PID] = INT32_MAX},
    .write = hwi_metrics_write,
    .answer = answer,
};
