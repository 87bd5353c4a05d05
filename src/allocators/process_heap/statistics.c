/* statistics.c - what the heap of a process writes about itself if HEAPWRIGHT_STATS asks for it
 *
 * The file is opened for each piece: the program may close all descriptors, and open files of its own with their
 * numbers.
 */
#include "allocators/process_heap/statistics.h"

#include <string.h>

#include "allocators/heap/config.h"
#include "allocators/heap/process_owner.h"
#include "allocators/message.h"
#include "allocators/setting.h"
#include "platform/os.h"
#include "platform/os_heap.h"

static bool is_on;
static char path[2 * HWI_OS_PATH_BYTES]; /* absolute, since the program may change its directory; "": stderr */
static size_t fault_count;

/* --- where --- */

/* Once; the line itself may be lost, too, in the file. */
static __attribute__((noinline)) void report_loss(int error)
{
  static bool is_reported;
  struct hwi_message line;
  if (__atomic_exchange_n(&is_reported, true, __ATOMIC_RELAXED))
    return;
  hwi_message_begin(&line);
  hwi_message_text(&line, "HEAPWRIGHT_STATS=");
  hwi_message_text(&line, path);
  hwi_message_text(&line, " cannot be written; statistics are lost");
  hwi_message_error(&line, error);
  hwi_message_print(&line);
}

static void add_to_file(const char *text, size_t bytes)
{
  int error = hwi_os_append_to_file(path, text, bytes);
  if (error)
    report_loss(error);
}

static void put(const char *text, size_t bytes)
{
  if (*path)
    add_to_file(text, bytes);
  else
    hwi_os_print_error(text, bytes);
}

static void write_line(struct hwi_message *line)
{
  line->text[line->bytes++] = '\n';
  put(line->text, line->bytes);
}

static bool set_path(const char *to)
{
  size_t bytes = strlen(to) + 1;
  long folder = *to == '/' ? 0 : hwi_os_folder_path(path, HWI_OS_PATH_BYTES);
  if (folder < 0 || bytes > HWI_OS_PATH_BYTES)
    return false;
  if (folder)
    path[folder++] = '/';
  memcpy(path + folder, to, bytes);
  return hwi_os_append_to_file(path, "", 0) == 0;
}

static bool choose(const char *to)
{
  if (!strcmp(to, "stderr")) {
    hwi_os_keep_error_output();
    return true;
  }
  if (set_path(to)) {
    hwi_message_copy_to(add_to_file);
    return true;
  }
  hwi_setting_report("HEAPWRIGHT_STATS", to, " cannot be written; there are no statistics");
  return false;
}

/* --- what --- */

static void begin_line(struct hwi_message *line, const char *text)
{
  hwi_message_begin(line);
  hwi_message_text(line, "process ");
  hwi_message_number(line, hwi_os_pid());
  hwi_message_text(line, text);
}

void hwi_statistics_begin(const char *to, const struct hw_heap *heap)
{
  struct hwi_message line;
  if (!to || !(is_on = choose(to)))
    return;
  begin_line(&line, " has loaded the heap, with these settings:");
  write_line(&line);
  for (size_t i = 0; i < HWI_HEAP_FIELDS; i++) {
    hwi_message_begin(&line);
    hwi_message_text(&line, hwi_heap_fields[i].variable);
    hwi_message_text(&line, "=");
    hwi_heap_field_print(&line, &heap->config, &hwi_heap_fields[i]);
    write_line(&line);
  }
}

static void put_table(struct hw_heap *heap)
{
  struct hwi_heap_table table;
  hwi_heap_make_table(heap, &table);
  put(table.text, table.bytes);
}

static void put_other(void *of_process, struct hw_heap *heap)
{
  struct hwi_message line;
  if (heap == of_process)
    return;
  begin_line(&line, " has another heap, which was not destroyed: ");
  hwi_message_address(&line, (uintptr_t)heap);
  if (!heap->has_lock)
    hwi_message_text(&line, "; it has no lock, so that its figures are not read");
  write_line(&line);
  if (heap->has_lock)
    put_table(heap);
}

static bool was_used(const struct hw_heap *heap)
{
  for (size_t i = 0; i <= HW_HEAP_MOST_CLASSES; i++)
    if (heap->taken_page_counts[i])
      return true;
  return heap->uses_libc;
}

void hwi_statistics_end(struct hw_heap *heap)
{
  struct hwi_message line;
  if (!is_on || hwi_heaps_has_lock()) /* a signal handler that ends the process has interrupted a call */
    return;
  bool is_used = was_used(heap);
  begin_line(&line,
             is_used
                 ? " ends; what is used was not freed. Invalid frees: "
                 : " ends; nothing was allocated on the heap: perhaps the program has another malloc. Invalid frees: ");
  hwi_message_number(&line, __atomic_load_n(&fault_count, __ATOMIC_RELAXED));
  write_line(&line);
  if (is_used)
    put_table(heap);
  hwi_heaps_each(put_other, heap);
}

void hwi_statistics_count_fault(void)
{
  __atomic_add_fetch(&fault_count, 1, __ATOMIC_RELAXED);
}
