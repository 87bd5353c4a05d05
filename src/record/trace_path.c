/* trace_path.c - the path of an image's trace
 *
 * Paths are built in static buffers, because the thread's stack may be almost used up. Only one thread at a time starts
 * a session.
 */
#include "record/trace_path.h"

#include <errno.h>
#include <string.h>

#include "base/base_name.h"
#include "base/name_part.h"
#include "base/text.h"
#include "platform/os.h"
#include "record/session.h"

enum { LARGEST_NAME = 64, MOST_TRIES = 1000 };
static const uint64_t default_window = UINT64_C(8) << 30;

/* --- names --- */

static void copy_name(char name[LARGEST_NAME], const char *path)
{
  const char *base = hwi_base_name(path);
  size_t bytes = strnlen(base, LARGEST_NAME - 1);
  memcpy(name, base, bytes);
  name[bytes] = 0;
}

/* Returns the name of the executable file itself, even if it was executed by a link. */
static const char *executable_name(void)
{
  static char name[LARGEST_NAME], path[1024];
  long n = hwi_os_executable_path(path, sizeof path - 1);
  path[n > 0 ? n : 0] = 0;
  copy_name(name, path);
  return name;
}

/* Returns the command that the user ran, as the launcher and ps call it. The first image reads and stores it early,
 * because programs overwrite the end of their stack to show a status. */
static const char *command_name(void)
{
  static char name[LARGEST_NAME];
  if (!name[0])
    copy_name(name, hwi_os_executed_path());
  if (!name[0])
    copy_name(name, executable_name());
  return name[0] ? name : "unknown";
}

static void expand(struct hwi_text *text, const char *pattern)
{
  for (enum hwi_name_part part; (part = hwi_name_next(&pattern)) != HWI_NAME_END;) {
    if (part == HWI_NAME_PROCESS) {
      hwi_text_add_number(text, hwi_os_pid());
    } else if (part == HWI_NAME_COMMAND) {
      hwi_text_add(text, command_name());
    } else {
      hwi_text_add_bytes(text, pattern - 1, 1);
    }
  }
}

bool hwi_trace_path_is_wanted(void)
{
  const char *pattern = hwi_session.options.only_process, *command = command_name(); /* stored from here on */
  return !pattern[0] || hwi_options_match(pattern, command) || hwi_options_match(pattern, executable_name());
}

void hwi_trace_path_followers(bool *next, bool *children)
{
  const struct hwi_options *options = &hwi_session.options;
  const char *pattern = options->output;
  *next = *pattern == '/' && !options->only_process[0]; /* in another directory, a relative name gives another path */
  *children = *next && options->children;
  for (enum hwi_name_part part; (part = hwi_name_next(&pattern)) != HWI_NAME_END;) {
    *next = *next && part != HWI_NAME_COMMAND;
    *children = *children && part != HWI_NAME_COMMAND && part != HWI_NAME_PROCESS;
  }
}

/* --- sizes --- */

/* Returns how large the window for a trace at `path` may become. */
static uint64_t window_bytes(const char *path)
{
  static char dir[HWI_OS_PATH_BYTES];
  struct hwi_text text = hwi_text_begin(dir, sizeof dir);
  const char *slash = strrchr(path, '/');
  hwi_text_add_bytes(&text, slash ? path : ".", slash ? (size_t)(slash - path) + 1 : 1);
  uint64_t bytes = hwi_session.options.max_size;
  if (!bytes) {
    uint64_t half_free = hwi_os_free_disk_bytes(dir) / 2;
    bytes = half_free && half_free < default_window ? half_free : default_window;
  }
  uint64_t file_limit = hwi_os_file_size_limit();
  if (bytes > file_limit)
    bytes = file_limit;
  return bytes;
}

static int open_at(struct hwi_writer *writer, const char *path, const struct hw_trace_header *header)
{
  const uint64_t least = HW_CHUNKS_OFF + HW_CHUNK_MAX_BYTES, bytes = window_bytes(path);
  if (bytes < least)
    return hwi_os_file_size_limit() < least ? -EFBIG : -ENOSPC;
  const int result = hwi_writer_open(writer, path, bytes, header);
  /* A file system may not have files as large as the window of a ring. */
  return result == -EFBIG && bytes > default_window ? hwi_writer_open(writer, path, default_window, header) : result;
}

/* --- a name that is taken --- */

enum owner { OURS, ANOTHER_RUN, FINISHED, NO_TRACE };

/* Returns whose trace is at `path`. *found gets its header. */
static enum owner owner_of(const char *path, struct hw_trace_header *found)
{
  if (hwi_os_read_file(path, found, sizeof *found) != (long)sizeof *found ||
      memcmp(found->magic, HW_TRACE_MAGIC, HW_TRACE_MAGIC_BYTES) != 0)
    return NO_TRACE;
  if (hwi_session.options.has_run_id)
    return memcmp(found->run_id, hwi_session.options.run_id, HW_ID_BYTES) == 0 ? OURS : ANOTHER_RUN;
  if (found->kind == HW_TRACE_PACKED)
    return FINISHED;
  uint32_t here = hwi_os_pid_namespace(0);
  bool is_of_here = !here || !found->pid_namespace || found->pid_namespace == here;
  bool has_starts = found->process_start && hwi_os_process_start(0); /* without /proc they are unknown */
  if (!is_of_here || !has_starts)                                    /* its pid is of no use here */
    return found->state == HW_STATE_EXITED ? FINISHED : OURS;
  return hwi_os_process_start(found->pid) == found->process_start ? OURS : FINISHED;
}

/* Creates a trace in NAME.children/, with the first name that is free. */
bool hwi_trace_path_open_child(struct hwi_writer *writer, struct hw_trace_header *header)
{
  static char path[HWI_OS_PATH_BYTES];
  struct hwi_text text = hwi_text_begin(path, sizeof path);
  hwi_text_add(&text, hwi_session.name);
  hwi_text_add(&text, ".children");
  if (text.full || hwi_os_make_dir(path))
    return false;
  hwi_text_add(&text, "/");
  hwi_text_add(&text, command_name());
  hwi_text_add(&text, ".");
  hwi_text_add_number(&text, hwi_os_pid());
  size_t stem = text.bytes;
  int result = -EEXIST;
  for (uint32_t i = 1; result == -EEXIST && i < MOST_TRIES; i++) {
    text.bytes = stem;
    if (i > 1) {
      hwi_text_add(&text, ".");
      hwi_text_add_number(&text, i);
    }
    hwi_text_add(&text, ".hwt");
    result = text.full ? -ENAMETOOLONG : open_at(writer, path, header);
  }
  return result == 0;
}

/* Returns whether `path` is the link of an image that could not begin a trace. */
static bool is_no_trace_link(const char *path)
{
  static const char start[] = HW_NO_TRACE_LINK;
  char text[sizeof start - 1];
  return hwi_os_read_link(path, text, sizeof text) == (long)sizeof text && memcmp(text, start, sizeof text) == 0;
}

/* Tries NAME. Returns true if `writer` is open, for NAME or for a child of it. *failure is the error if another place
 * should be tried, and 0 if none should. */
static bool open_name(struct hwi_writer *writer, struct hw_trace_header *header, int *failure)
{
  struct hw_trace_header found;
  *failure = 0;
  for (int tries = 0; tries < 2; tries++) {
    int result = open_at(writer, hwi_session.name, header);
    if (result != -EEXIST) {
      *failure = result;
      return result == 0;
    }
    if (is_no_trace_link(hwi_session.name) && hwi_os_remove_file(hwi_session.name) == 0)
      continue;
    enum owner owner = owner_of(hwi_session.name, &found);
    if (owner == FINISHED && hwi_os_file_is_mine(hwi_session.name) && hwi_os_remove_file(hwi_session.name) == 0)
      continue;
    if (owner != OURS)
      return false;
    if (!hwi_session.options.children && found.pid != hwi_os_pid())
      return false;
    memcpy(header->run_id, found.run_id, HW_ID_BYTES);
    return hwi_trace_path_open_child(writer, header);
  }
  return false;
}

/* Makes the missing directories up to the last slash of `path`, except those in its first `there` bytes. */
static void make_folders(char *path, size_t there)
{
  for (char *slash = strchr(path + there + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = 0;
    (void)hwi_os_make_dir(path); /* if this fails, creating the trace fails as well */
    *slash = '/';
  }
}

enum place { AS_ASKED, HERE, STATE, TEMPORARY, PLACES };

/* Writes the directory, up to its last slash. Returns false if there is no such place. */
static bool put_folder(struct hwi_text *text, enum place place)
{
  const struct hwi_options *options = &hwi_session.options;
  if (place == AS_ASKED || place == HERE) { /* absolute, since the program may change its directory */
    bool is_absolute = place == AS_ASKED && options->output[0] == '/';
    long n = is_absolute ? 0 : hwi_os_folder_path(text->to, text->room - 1);
    text->bytes = n > 0 ? (size_t)n : 0;
    hwi_text_add(text, text->bytes ? "/" : "");
    return true;
  }
  const char *folder = place == STATE ? options->state_home : options->temporary;
  hwi_text_add(text, folder);
  hwi_text_add(text, place == STATE ? "/heapwright/" : "/");
  if (place == STATE && folder[0] && !text->full)
    make_folders(text->to, options->home_bytes);
  return folder[0];
}

/* Writes the name to hwi_session.name. Returns false if there is no such place. */
static bool put_name(enum place place)
{
  static const char default_name[] = "heapwright.%c.%p.hwt";
  struct hwi_text text = hwi_text_begin(hwi_session.name, sizeof hwi_session.name);
  if (!put_folder(&text, place))
    return false;
  expand(&text, place == AS_ASKED ? hwi_session.options.output : default_name);
  return !text.full;
}

/* Returns the text of the link that replaces the trace, or NULL for other errors: where a trace is forbidden, a link is
 * as well. */
static const char *reason_of(int failure)
{
  switch (failure) {
  case -EFBIG:
    return HW_NO_TRACE_LINK "limit of file size (ulimit -f)";
  case -ENOSPC:
  case -EDQUOT:
    return HW_NO_TRACE_LINK "disk full";
  case -ENOMEM:
    return HW_NO_TRACE_LINK "no memory (ulimit -v)";
  case -EMFILE:
  case -ENFILE:
    return HW_NO_TRACE_LINK "no file descriptor left";
  default:
    return NULL;
  }
}

/* No other process would report the failure. The user looks at the first place. */
static void leave_link(enum place first, enum place end, const char *reason)
{
  for (enum place place = first; place < end; place++) {
    if (!put_name(place))
      continue;
    if (is_no_trace_link(hwi_session.name))
      (void)hwi_os_remove_file(hwi_session.name); /* it may have another text */
    if (hwi_os_make_link(hwi_session.name, reason) == 0)
      return;
  }
}

bool hwi_trace_path_open_first(struct hwi_writer *writer, struct hw_trace_header *header)
{
  const struct hwi_options *options = &hwi_session.options;
  if (options->has_run_id)
    memcpy(header->run_id, options->run_id, HW_ID_BYTES);
  else
    hwi_os_random(header->run_id, HW_ID_BYTES);
  enum place first = options->output[0] ? AS_ASKED : HERE, end = options->output[0] ? HERE : PLACES;
  bool retry = true;
  const char *reason = NULL;
  for (enum place place = first; retry && place < end; place++) {
    int failure;
    if (!put_name(place))
      continue;
    if (open_name(writer, header, &failure))
      return true;
    retry = failure != 0;
    reason = reason ? reason : reason_of(failure);
  }
  if (retry && reason && !options->has_run_id) /* otherwise a launcher reports it */
    leave_link(first, end, reason);
  return false;
}
