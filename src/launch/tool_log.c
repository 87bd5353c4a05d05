/* tool_log.c - writes into a raw trace while its program runs: records of the tool area, the control word */
#include "launch/tool_log.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

enum {
  RECORD_ALIGNMENT = 8,
  MARKS_RESERVE = 128 << 10, /* of the area, for rare records; samples, threads and files do not use it */
  PAYLOAD_MAX = 4096,
  LOCK_TRIES = 100,
  LOCK_PAUSE_NS = 2000000,
};

uint64_t hwi_monotonic_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint32_t hwi_tool_log_fill(const struct hwi_tool_log *log)
{
  uint64_t used = log->at > HW_TOOL_AREA_OFF ? log->at - HW_TOOL_AREA_OFF : 0;
  return (uint32_t)(used * 1000 / HW_TOOL_AREA_BYTES);
}

/* Does not wait for ever: the process that holds the lock may be stopped. */
static int lock(int fd)
{
  static const struct timespec pause = {.tv_nsec = LOCK_PAUSE_NS};
  for (int i = 0; i < LOCK_TRIES; i++) {
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
      return 0;
    if (errno != EWOULDBLOCK && errno != EINTR)
      return HW_ERR_IO;
    nanosleep(&pause, NULL);
  }
  return HW_ERR_BUSY;
}

/* Moves `at` to the end of the last record. */
static int find_end(struct hwi_tool_log *log)
{
  if (!log->at)
    log->at = HW_TOOL_AREA_OFF;
  while (log->at + sizeof(struct hw_tool_record) <= HW_CHUNKS_OFF) {
    struct hw_tool_record record;
    ssize_t got = pread(log->fd, &record, sizeof record, (off_t)log->at);
    if (got < 0)
      return HW_ERR_IO;
    if (got < (ssize_t)sizeof record || !record.type)
      return 0;
    uint64_t next = log->at + sizeof record + ((record.bytes + UINT64_C(7)) & ~(uint64_t)(RECORD_ALIGNMENT - 1));
    if (next > HW_CHUNKS_OFF)
      return HW_ERR_LIMIT;
    log->at = next;
  }
  return HW_ERR_LIMIT;
}

static int write_record(struct hwi_tool_log *log, const struct hw_tool_record *record, const void *payload)
{
  uint8_t bytes[sizeof *record + PAYLOAD_MAX + RECORD_ALIGNMENT] = {0};
  size_t all = sizeof *record + ((record->bytes + (size_t)7) & ~(size_t)(RECORD_ALIGNMENT - 1));
  const bool is_rare = record->type != HW_TOOL_RSS && record->type != HW_TOOL_THREAD && record->type != HW_TOOL_FILE;
  uint64_t limit = HW_CHUNKS_OFF - (is_rare ? 0 : MARKS_RESERVE);
  if (log->at + all > limit)
    return HW_ERR_LIMIT;
  memcpy(bytes, record, sizeof *record);
  memset(bytes, 0, sizeof record->type);
  if (record->bytes)
    memcpy(bytes + sizeof *record, payload, record->bytes);
  /* The type is written last: an incomplete record has none. */
  if (pwrite(log->fd, bytes, all, (off_t)log->at) != (ssize_t)all ||
      pwrite(log->fd, &record->type, sizeof record->type, (off_t)log->at) != (ssize_t)sizeof record->type)
    return HW_ERR_IO;
  log->at += all;
  return 0;
}

int hwi_tool_log_append(struct hwi_tool_log *log, enum hw_tool_type type, uint64_t monotonic_ns, const void *payload,
                        uint32_t bytes)
{
  struct hw_tool_record record = {.type = type, .bytes = bytes, .monotonic_ns = monotonic_ns};
  if (bytes > PAYLOAD_MAX)
    return HW_ERR_LIMIT;
  int status = lock(log->fd);
  if (status < 0)
    return status;
  status = find_end(log);
  if (status == 0)
    status = write_record(log, &record, payload);
  int os_error = errno;
  flock(log->fd, LOCK_UN);
  errno = os_error;
  return status;
}

/* --- the control word --- */

static int store_control(int fd, uint32_t control)
{
  off_t at = offsetof(struct hw_trace_header, control);
  return pwrite(fd, &control, sizeof control, at) == (ssize_t)sizeof control ? 0 : HW_ERR_IO;
}

enum hw_control hwi_control_word_get(const struct hwi_tool_log *log)
{
  uint32_t control = HW_CONTROL_RECORD;
  off_t at = offsetof(struct hw_trace_header, control);
  bool is_read = pread(log->fd, &control, sizeof control, at) == (ssize_t)sizeof control;
  return is_read && control == HW_CONTROL_PAUSE ? HW_CONTROL_PAUSE : HW_CONTROL_RECORD;
}

/* In the trace a pause must not be shorter than it was: its begin is noted with an earlier time, and its end with a
 * later one. */
int hwi_control_word_set(struct hwi_tool_log *log, enum hw_control control, bool *changed)
{
  bool ignored;
  changed = changed ? changed : &ignored;
  *changed = false;
  if (hwi_control_word_get(log) == control)
    return 0;
  int status;
  if (control == HW_CONTROL_PAUSE) {
    status = hwi_tool_log_append(log, HW_TOOL_PAUSED, hwi_monotonic_ns(), NULL, 0);
    if (status == 0)
      status = store_control(log->fd, control);
  } else {
    status = store_control(log->fd, control);
    if (status == 0)
      status = hwi_tool_log_append(log, HW_TOOL_RESUMED, hwi_monotonic_ns(), NULL, 0);
  }
  *changed = status == 0;
  return status;
}
